"""The arrays of a request in the block of a slot, as host and device process see them.

A `SlotLayout` says for one network what lies where. For networks of fixed shapes it is known
when they are loaded, and the views of it are made once for each slot; for those with open
sizes it follows from the shapes that the messages tell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from glow.compiled_model import arranged, check_array
from glow.dialects.errors import GlowError
from glow.host.devices.process_messages import ConnectionLost
from glow.host.devices.shared_block import Array, Shape, SharedBlock, places_of
from glow.tensor_info import TensorInfo

if TYPE_CHECKING:
    from glow.host.network import AnyTensorInfo

Views = tuple[list[Array], list[Array]]
"""The inputs and the outputs."""


class SlotLayout:
    """Where inputs and outputs of a network lie in a slot's block."""

    def __init__(
        self, inputs: Sequence[AnyTensorInfo], outputs: Sequence[AnyTensorInfo]
    ) -> None:
        self.inputs = inputs
        self.input_names = [info.name for info in inputs]
        self.input_dtypes = [info.dtype for info in inputs]
        self.output_dtypes = [info.dtype for info in outputs]
        known = [info.shape for info in (*inputs, *outputs) if type(info) is TensorInfo]
        self.shapes: list[Shape] | None = None
        """The shapes of all inputs and outputs; None where sizes are open."""
        if len(known) == len(inputs) + len(outputs):
            self.shapes = known

    def check(self, arrays: Sequence[Array]) -> list[Array]:
        """The inputs, which fit; raises GlowError for those that do not."""
        given = arranged(self.input_names, arrays, {})
        checked: list[Array] = []
        for info in self.inputs:
            array = np.asarray(given[info.name])
            if isinstance(info, TensorInfo):
                array = check_array("input", info, array)
            elif array.dtype != info.dtype:
                raise GlowError(
                    f"input '{info.name}' must have dtype {info.dtype}, not {array.dtype}"
                )
            checked.append(array)
        return checked

    def fixed_views(self, block: SharedBlock) -> Views:
        """All arrays in a block, which is large enough."""
        assert self.shapes is not None
        dtypes = [*self.input_dtypes, *self.output_dtypes]
        places, end = places_of(self.shapes, dtypes)
        block.reach(end)
        arrays = block.arrays(places, self.shapes, dtypes)
        count = len(self.input_dtypes)
        return arrays[:count], arrays[count:]

    def open_inputs(
        self, block: SharedBlock, shapes: Sequence[Shape]
    ) -> tuple[list[Array], int]:
        """The inputs in a block, which grows for them, and where they end."""
        places, end = places_of(shapes, self.input_dtypes)
        block.reach(end)
        return block.arrays(places, shapes, self.input_dtypes), end

    def open_outputs(
        self, block: SharedBlock, shapes: Sequence[Shape], start: int, *, grow: bool
    ) -> list[Array]:
        """The outputs in a block behind its inputs.

        Raises ConnectionLost where they are not there and it must not `grow`.
        """
        places, end = places_of(shapes, self.output_dtypes, start)
        if not grow and end > block.size():
            raise ConnectionLost("it sent what is no answer")
        block.reach(end)
        return block.arrays(places, shapes, self.output_dtypes)


def shapes_as_text(arrays: Sequence[Array]) -> bytes:
    """The shapes of arrays, to be sent."""
    return json.dumps([array.shape for array in arrays]).encode()


def shapes_of_text(text: bytes, count: int) -> list[Shape]:
    """The shapes of so many arrays that were sent; raises ConnectionLost for what is none."""
    try:
        found: object = json.loads(text)
        shapes = [tuple(map(int, shape)) for shape in cast(list[list[int]], found)]
    except (ValueError, TypeError) as error:
        raise ConnectionLost("it sent what is no answer") from error
    if len(shapes) != count or any(size < 0 for shape in shapes for size in shape):
        raise ConnectionLost("it sent what is no answer")
    return shapes
