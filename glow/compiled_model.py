"""A compiled network as users see it: names, shapes, dtypes, and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.tensor_info import Signature, TensorInfo

if TYPE_CHECKING:
    from glow.backends.backend import CompiledFunction

Array = npt.NDArray[np.generic]


class CompiledModel:
    """A network ready to run; several Python threads may call it at once.

    Call it with one array for each input, by position or by name:

        y = model(x)                  # an array, or a tuple where there are several
        ys = model.run({"x": x})      # a dictionary by output name
    """

    def __init__(self, signature: Signature, function: CompiledFunction) -> None:
        self.signature = signature
        self.function = function

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs in order."""
        return self.signature.outputs

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple.

        Raises GlowError for a missing or unknown input, a wrong shape or dtype.
        """
        results = self.function.run(self._arrange(arrays, named))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name for inputs by name; names may hold any character."""
        results = self.function.run(self._arrange((), inputs))
        names = [info.name for info in self.outputs]
        return dict(zip(names, results, strict=True))

    def _arrange(
        self, arrays: Sequence[Array], named: Mapping[str, Array]
    ) -> list[Array]:
        """The inputs in order, each checked against the signature."""
        names = [info.name for info in self.inputs]
        if len(arrays) > len(names):
            raise GlowError(f"the model takes {len(names)} inputs, not {len(arrays)}")
        values = dict(zip(names, arrays, strict=False))
        for name, array in named.items():
            if name not in names:
                raise GlowError(
                    f"the model has no input '{name}' (inputs: {', '.join(names)})"
                )
            if name in values:
                raise GlowError(f"input '{name}' is given twice")
            values[name] = array
        missing = [name for name in names if name not in values]
        if missing:
            raise GlowError(f"missing input '{missing[0]}'")
        return [check_input(info, values[info.name]) for info in self.inputs]


def check_input(info: TensorInfo, array: Array) -> Array:
    """The input as an array; raises GlowError where shape or dtype differ."""
    array = np.asarray(array)
    if array.shape != info.shape:
        raise GlowError(
            f"input '{info.name}' must have shape {list(info.shape)}, not "
            f"{list(array.shape)}"
        )
    if array.dtype != info.dtype:
        raise GlowError(
            f"input '{info.name}' must have dtype {info.dtype}, not {array.dtype}"
        )
    return array
