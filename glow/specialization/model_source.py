"""What a model that compiles at its calls is compiled from."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.open_sizes import OpenSignature, shorter_shapes
from glow.options import CompileOptions
from glow.specialization.program_ends import ProgramEnds

if TYPE_CHECKING:
    import onnx
    from xdsl.dialects.builtin import ModuleOp

    from glow.compiled_model import Array, CompiledModel
    from glow.specialization.evaluation import Evaluation
    from glow.specialized_model import Answers

    OnnxModel = str | os.PathLike[str] | bytes | onnx.ModelProto


class ModelSource:
    """A model's file, which must stay as it is, or its bytes."""

    def __init__(self, model: OnnxModel) -> None:
        if isinstance(model, str | os.PathLike):
            model = os.path.abspath(model)  # Whatever folder a later call is in.
        elif not isinstance(model, bytes):
            model = _copy(model)
        self.model: OnnxModel = model
        self._stamp = self._current_stamp()

    def check(self) -> None:
        """Raise GlowError where the model's file is another one than at first."""
        if self._current_stamp() != self._stamp:
            raise GlowError(
                f"'{self.model}' has changed since it was compiled, and this call needs a "
                "program for other sizes",
                hint="compile it again",
            )

    def _current_stamp(self) -> tuple[int, int] | None:
        if not isinstance(self.model, str | os.PathLike):
            return None
        try:
            status = os.stat(self.model)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns


class OpenSource(ABC):
    """A model whose programs are compiled at its calls, and what of it is known by then."""

    def __init__(self, source: ModelSource, options: CompileOptions) -> None:
        self.source = source
        self.options = options
        self.ends = ProgramEnds()
        self._evaluation: Evaluation | None = None
        self.signature: OpenSignature | None = None
        """The model's, once it is known how calls are padded."""

    def options_for(self, shapes: Mapping[str, tuple[int, ...]]) -> CompileOptions:
        """The options of the program for some shapes of the inputs."""
        signature = self.signature
        if signature is None or signature.padding is None:
            return self.options.for_shapes(shapes)
        listed = [shapes[info.name] for info in signature.inputs]
        shorter = shorter_shapes(signature.inputs, signature.padding, listed)
        return self.options.for_shapes(shapes, shorter or None)

    def evaluate(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        answers: Answers,
        values: Mapping[str, Array],
    ) -> Mapping[str, Array] | None:
        """The outputs by name for the values of a call; None if they want a compiler.

        Raises GlowError where the model's file is another one than at first.
        """
        options, model = self.options, self.source.model
        if options.quantize or options.precision != "f32":
            return None
        from glow.frontends.onnx import end_of_programs

        self.source.check()
        evaluation = self._evaluation
        if evaluation is None:
            from glow.specialization.evaluation import Evaluation

            given = {*shapes, *(options.input_values or {})}
            evaluation = Evaluation(model, self.compile_part, given)
            self._evaluation = evaluation
        end = end_of_programs(
            evaluation.loaded,
            answers,
            input_shapes=shapes,
            input_values=options.input_values or {},
            ends=self.ends,
        )
        return evaluation.run(end, values)

    @abstractmethod
    def compile_part(self, part: ModuleOp) -> CompiledModel:
        """A program of some nodes of the model, all sizes of which are known."""

    def __getstate__(self) -> dict[str, object]:
        """Without what can be read again."""
        return {**self.__dict__, "_evaluation": None}


def _copy(model: onnx.ModelProto) -> onnx.ModelProto | bytes:
    """The bytes of a model that its owner may change, where they can be made."""
    try:
        return model.SerializeToString()
    except ValueError:  # More than 2 GB.
        return model
