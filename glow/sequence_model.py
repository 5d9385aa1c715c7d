"""A network with sequences or optionals among its inputs and outputs.

In Python a sequence is a list of arrays, an optional is None or its value. How long the
sequences of a call are, and which optionals have a value, decides which tensors a program
takes: for each such form there is a model of tensors, whose inputs are the elements.

    x of two arrays, y None        a model of the tensors x[0], x[1]
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, cast

import numpy as np

from glow.compiled_model import Array, CompiledModel
from glow.dialects.errors import GlowError, SequencesError
from glow.specialized_model import RunnableModel

if TYPE_CHECKING:
    import onnx

    from glow.options import CompileOptions

    OnnxModel = str | bytes | onnx.ModelProto

Value = Array | Sequence[Array] | None
Result = Array | list[Array] | None

Form = tuple[int | None, ...]
"""For each input how long the list is, `TENSOR` for an array, None for no value."""

TENSOR = -1

Compile = Callable[["onnx.ModelProto", "CompileOptions"], RunnableModel]


class SequenceModel:
    """A network ready to run; several Python threads may call it at once."""

    def __init__(
        self, model: onnx.ModelProto, options: CompileOptions, make: Compile
    ) -> None:
        """`make` compiles the model of a form."""
        self.model = model
        self.options = options
        self.make = make
        self.inputs = tuple(value.name for value in _inputs(model))
        self.outputs = tuple(value.name for value in model.graph.output)
        self._kept: OrderedDict[Form, RunnableModel] = OrderedDict()
        """The models of the forms that were called last."""
        self._making: dict[Form, Lock] = {}
        """Of each form, held while it is compiled: other forms do not wait."""
        self._lock = Lock()

    def __repr__(self) -> str:
        takes, gives = ", ".join(self.inputs), ", ".join(self.outputs)
        return f"<glow.SequenceModel ({takes}) -> ({gives})>"

    def __reduce__(self) -> tuple[object, ...]:
        """How `pickle` stores the model: it is compiled again where it is called."""
        return type(self), (self.model, self.options, self.make)

    def __call__(self, *values: Value, **named: Value) -> Result | tuple[Result, ...]:
        """The output, or the outputs as a tuple; raises GlowError for wrong inputs."""
        if len(values) > len(self.inputs):
            raise GlowError(
                f"the model has {len(self.inputs)} inputs, not {len(values)}"
            )
        given = {**dict(zip(self.inputs, values, strict=False)), **named}
        results = tuple(self.run(given).values())
        return results[0] if len(results) == 1 else results

    def run(self, inputs: Mapping[str, Value]) -> dict[str, Result]:
        """The outputs by name for inputs by name; an optional may be left out."""
        unknown = [name for name in inputs if name not in self.inputs]
        if unknown:
            raise GlowError(f"the model has no input '{unknown[0]}'")
        form: list[int | None] = []
        arrays: list[Array] = []
        for name in self.inputs:
            value = inputs.get(name)
            if value is None:
                form.append(None)
            elif isinstance(value, list | tuple):
                form.append(len(value))
                arrays.extend(map(np.asarray, value))
            else:
                form.append(TENSOR)
                arrays.append(np.asarray(value))
        return self._outputs(self._model_of(tuple(form)), arrays)

    def _model_of(self, form: Form) -> RunnableModel:
        """The model of tensors for a form, compiled by whoever asks for it first."""
        with self._lock:
            making = self._making.setdefault(form, Lock())
        with making:
            with self._lock:
                found = self._kept.get(form)
            if found is None:
                from glow.frontends.onnx.sequence_inputs import with_forms

                forms = dict(zip(self.inputs, form, strict=True))
                found = self.make(with_forms(self.model, forms), self.options)
        with self._lock:
            self._kept[form] = found
            self._kept.move_to_end(form)
            while len(self._kept) > self.options.specializations:
                self._making.pop(self._kept.popitem(last=False)[0], None)
        return found

    def _outputs(
        self, model: RunnableModel, arrays: Sequence[Array]
    ) -> dict[str, Result]:
        """The values of the outputs, by the names of their tensors."""
        program, taken = (
            (model, arrays)
            if isinstance(model, CompiledModel)
            else model.prepare(arrays)
        )
        found = program(*taken)
        names = [info.name for info in program.outputs]
        tensors = dict(
            zip(names, found if isinstance(found, tuple) else (found,), strict=True)
        )
        results: dict[str, Result] = {}
        for output in self.model.graph.output:
            name = output.name
            elements: list[Array] = []
            while f"{name}[{len(elements)}]" in tensors:
                elements.append(tensors[f"{name}[{len(elements)}]"])
            is_list = elements or output.type.HasField("sequence_type")
            results[name] = tensors.get(name, elements if is_list else None)
        return results


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def with_sequences(
    model: object, options: CompileOptions, make: Callable[..., RunnableModel]
) -> RunnableModel:
    """What `make` compiles, or a `SequenceModel` where the model has sequences.

    That is called as the others are; only who gives it lists and gets some has to know.
    """
    try:
        return make(model, options)
    except SequencesError:
        if options.buckets:
            raise GlowError("buckets are for models without sequences") from None
        from glow.frontends.onnx.sequence_inputs import whole_model

        whole = SequenceModel(whole_model(cast("OnnxModel", model)), options, make)
        return cast(RunnableModel, whole)
