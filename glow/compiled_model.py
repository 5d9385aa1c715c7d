"""A compiled network as users see it: names, shapes, dtypes, and calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from operator import index
from pickle import PickleBuffer
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import GENERATOR, FilledOutput
from glow.runtime.buffers import IN_PLACE_BYTES
from glow.tensor_info import Signature, TensorInfo

if TYPE_CHECKING:
    from glow.backends.backend import CompiledFunction

Array = npt.NDArray[np.generic]

NO_VARIABLES: Mapping[str, Array] = MappingProxyType({})


class LimitedFunction(Protocol):
    """Code of which a call takes no more threads than it is told."""

    def run(self, inputs: Sequence[Array], threads: int | None = None) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        ...

    def run_into(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        threads: int | None = None,
    ) -> None:
        """Runs on the memory of arrays."""
        ...


class FillingFunction(Protocol):
    """Code before which inputs are written into outputs, and which does not read them."""

    @property
    def filled(self) -> Sequence[FilledOutput]:
        """Which inputs, and where."""
        ...

    @property
    def output_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the outputs."""
        ...

    def new_result(self, number: int) -> Array:
        """An array for an output, of whatever numbers."""
        ...

    def run_filled(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        threads: int | None = None,
    ) -> None:
        """Runs on the memory of arrays, when the inputs are in the outputs."""
        ...


class CompiledModel:
    """A network ready to run; several Python threads may call it at once.

    Call it with one array for each input, by position or by name:

        y = model(x)                  # an array, or a tuple where there are several
        ys = model.run({"x": x})      # a dictionary by output name
    """

    def __init__(
        self, signature: Signature, function: CompiledFunction, backend: str = ""
    ) -> None:
        """`backend` is the name of the one that made the function, where that is known."""
        self.backend = backend
        self.signature = signature
        self.function = function
        self._input_names = [info.name for info in signature.inputs]
        self._output_names = [info.name for info in signature.outputs]
        self._inputs = [(info.shape, info.dtype) for info in signature.inputs]
        self._outputs = [(info.shape, info.dtype) for info in signature.outputs]
        self._run_into = getattr(function, "run_into", None)
        self._bytes = signature.nbytes
        is_limited = getattr(function, "limits_threads", False)
        self._limited = cast(LimitedFunction, function) if is_limited else None
        self._draw_key()

    def __repr__(self) -> str:
        takes, gives = (
            ", ".join(map(str, infos)) for infos in (self.inputs, self.outputs)
        )
        details = getattr(self.function, "details", type(self.function).__name__)
        return f"<glow.CompiledModel ({takes}) -> ({gives}), {details}>"

    def _draw_key(self) -> None:
        """Give a generator of random numbers that has no key yet another one than others have."""
        state = self.variables.get(GENERATOR)
        if state is not None and not state.any():
            state[0] = int.from_bytes(os.urandom(7), "little")

    def __copy__(self) -> CompiledModel:
        """The model itself, with the variables that it has."""
        return self

    def __deepcopy__(self, memo: object) -> CompiledModel:
        """The model itself; one with variables becomes two with variables of their own."""
        copy = getattr(self.function, "copy", None)
        if not self.variables or copy is None:
            return self
        return type(self)(self.signature, copy(), self.backend)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[object, ...]:
        """How `pickle` stores the model, for the same version and kind of processor.

        Its variables keep the values that they have. From protocol 5 on its bytes are a buffer,
        which a pickle may have outside.

        Raises GlowError where the backend stores no programs.
        """
        from glow.model_bytes import model_bytes, model_from_bytes

        backend, reader, data, where = model_bytes(
            self.signature, self.function, self.backend
        )
        can_be_outside = index(protocol) >= 5
        content = PickleBuffer(data) if can_be_outside else bytes(data)
        return model_from_bytes, (type(self), backend, reader, content, where)

    @property
    def can_be_stored(self) -> bool:
        """Whether `pickle` and the cache of models can keep it."""
        from glow.backends.backend import get_backend

        if not self.backend:
            return False
        return get_backend(self.backend).stored_program(self.function) is not None

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs in order."""
        return self.signature.outputs

    @property
    def filling(self) -> FillingFunction | None:
        """The code, if it leaves it to calls to write inputs into outputs."""
        is_filled = bool(getattr(self.function, "filled", ()))
        return cast("FillingFunction", self.function) if is_filled else None

    @property
    def variables(self) -> Mapping[str, Array]:
        """What calls keep (`glow.variable`) by name, in the order of the program.

        The arrays are the memory that calls read and write: they show the values of the last
        call, and what is written into them the next call reads. They stay where they are.
        Nobody may write while a call is on, nor rely on what they show then. Calls of a model
        with variables wait for each other.
        """
        return getattr(self.function, "variables", NO_VARIABLES)

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple.

        Raises GlowError for a missing or unknown input, a wrong shape or dtype.
        """
        results = self._run(self._arrange(arrays, named))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name for inputs by name; names may hold any character."""
        results = self._run(self._arrange((), inputs))
        return dict(zip(self._output_names, results, strict=True))

    def run_in_order(
        self,
        inputs: Sequence[Array],
        threads: int | None = None,
        memory: Sequence[Array] = (),
    ) -> list[Array]:
        """The outputs in order for inputs in order, which may be read in place.

        `threads` is the most that this call takes, where that is less than others do.
        `memory` are arrays like the outputs, which then may be the outputs. Raises GlowError
        as a call does.
        """
        arrays = self._arrange(inputs, {})
        if self._limited is None:
            return self._run(arrays)
        if not memory or self._bytes < IN_PLACE_BYTES:
            return self._limited.run(arrays, threads)
        taken = [np.require(array, None, ["C", "A"]) for array in arrays]
        results = list(memory)
        self._limited.run_into(taken, results, threads)
        return results

    def run_into(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
        threads: int | None = None,
    ) -> None:
        """Writes the outputs into arrays, in order or by name; nothing is copied.

        The network reads and writes the arrays themselves: they must be contiguous, and
        outputs must not share memory with anything else. `threads` is the most that this call
        takes, where that is less than others do. Raises GlowError for arrays that do not fit.
        """
        takes, gives = inputs, outputs
        if not _are_exactly(takes, self._inputs):
            takes = _in_order(inputs, self.inputs, "input")
        if not _are_exactly(gives, self._outputs):
            gives = _in_order(outputs, self.outputs, "output")
        if self._limited is not None:
            self._limited.run_into(takes, gives, threads)
            return
        if self._run_into is not None:
            self._run_into(takes, gives)
            return
        for array, result in zip(gives, self._run(takes), strict=True):
            array[...] = result

    def _run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs for inputs that fit; GlowError names a backend whose outputs do not."""
        results = self.function.run(arrays)
        if self._limited is not None or _are_exactly(cast(Any, results), self._outputs):
            return results
        wrong = output_error(self.backend, self.outputs, results)
        if wrong is not None:
            raise wrong
        return results

    def _arrange(
        self, arrays: Sequence[Array], named: Mapping[str, Array]
    ) -> Sequence[Array]:
        """The inputs in order, each checked against the signature."""
        names = self._input_names
        if not arrays and len(named) == len(names):
            in_order = cast("list[Array]", [named.get(name) for name in names])
            if _are_exactly(in_order, self._inputs):
                return in_order
        elif not named and _are_exactly(arrays, self._inputs):
            return arrays
        values = arranged(names, arrays, named)
        return [check_array("input", info, values[info.name]) for info in self.inputs]


def arranged(
    names: Sequence[str], arrays: Sequence[Array], named: Mapping[str, Array]
) -> Mapping[str, Array]:
    """The inputs by name; raises GlowError for those that are missing or too many."""
    if len(arrays) > len(names):
        raise GlowError(f"the model takes {len(names)} inputs, not {len(arrays)}")
    values = dict(zip(names, arrays, strict=False))
    for name, array in named.items():
        if name not in names:
            known = f"(inputs: {', '.join(names)})"
            raise GlowError(f"the model has no input '{name}' {known}")
        if name in values:
            raise GlowError(f"input '{name}' is given twice")
        values[name] = array
    missing = [name for name in names if name not in values]
    if missing:
        raise GlowError(f"missing input '{missing[0]}'")
    return values


class Shaped(Protocol):
    """An array, wherever it is."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        ...

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """What the elements are."""
        ...


def output_error(
    backend: str, expected: Sequence[TensorInfo], found: Sequence[Shaped]
) -> GlowError | None:
    """What is wrong with the outputs that a backend's function gave; None if nothing is."""
    who = f"backend '{backend}'" if backend else "the backend"
    if len(found) != len(expected):
        return GlowError(f"{who} gave {len(found)} outputs, not {len(expected)}")
    for info, array in zip(expected, found, strict=True):
        shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
        if shape is None or dtype is None:
            kind = type(array).__name__
            return GlowError(f"{who} gave output '{info.name}' as {kind}, no array")
        if tuple(shape) != info.shape or dtype != info.dtype:
            return GlowError(
                f"{who} gave output '{info.name}' as {dtype}{list(shape)}, which is "
                f"{info.dtype}{list(info.shape)}"
            )
    return None


def _are_exactly(
    arrays: Sequence[Array] | Mapping[str, Array],
    expected: Sequence[tuple[tuple[int, ...], object]],
) -> TypeGuard[Sequence[Array]]:
    """Whether these are arrays of all shapes and dtypes in order, as most callers pass."""
    if type(arrays) not in (list, tuple) or len(arrays) != len(expected):
        return False
    for array, (shape, dtype) in zip(arrays, expected, strict=True):
        if type(array) is not np.ndarray or array.shape != shape:
            return False
        if array.dtype != dtype:
            return False
    return True


def _in_order(
    arrays: Sequence[Array] | Mapping[str, Array],
    infos: Sequence[TensorInfo],
    kind: str,
) -> Sequence[Array]:
    """The arrays of all inputs or outputs, which are used as they are."""
    if isinstance(arrays, Mapping):
        names = [info.name for info in infos]
        if set(arrays) != set(names):
            given, wanted = (", ".join(sorted(some)) for some in (arrays, names))
            raise GlowError(
                f"the model's {kind}s are {wanted}, not {given or 'nothing'}"
            )
        arrays = [arrays[name] for name in names]
    if len(arrays) != len(infos):
        raise GlowError(f"the model has {len(infos)} {kind}s, not {len(arrays)}")
    for info, array in zip(infos, arrays, strict=True):
        if check_array(kind, info, array) is not array:
            raise GlowError(f"{kind} '{info.name}' must be a NumPy array")
    return arrays


def check_array(kind: str, info: TensorInfo, array: Array) -> Array:
    """The input or output as an array; raises GlowError where shape or dtype differ."""
    array = np.asarray(array)
    if array.shape != info.shape:
        raise GlowError(
            f"{kind} '{info.name}' must have shape {list(info.shape)}, not "
            f"{list(array.shape)}"
        )
    if array.dtype != info.dtype:
        raise GlowError(
            f"{kind} '{info.name}' must have dtype {info.dtype}, not {array.dtype}"
        )
    return array
