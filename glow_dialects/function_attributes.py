"""The attributes that tell about a function, which several levels share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from xdsl.dialects.func import FuncOp

    Array = npt.NDArray[np.generic]

INPUT_NAMES = "glow.input_names"
OUTPUT_NAMES = "glow.output_names"
"""What the network calls its inputs and outputs, in order."""

INPUT_COUNT = "glow.input_count"
"""On buffers: how many of the arguments are inputs; outputs follow."""

ARENA_BYTES = "glow.arena_bytes"
"""The bytes of the arena that a memory plan needs."""

FILLED = "glow.filled"
"""On buffers: the inputs that the caller writes into outputs (`passes/instr/fill_outputs.py`). In
`[array<i64: 0, 2, 0, 8>]` argument 0 is written into argument 2, at offsets 0 and 8."""

LIVE_BYTES = "glow.live_bytes"
"""The largest number of bytes that are alive at once, which no plan can beat."""

RECOMPUTED = "glow.recomputed"
"""The names of the buffers that are computed again to keep to a limit of memory."""

DEVICE = "glow.device"
"""The device that runs a part of a divided network (`passes/graph/partition`)."""

REPLICAS = "glow.replicas"
"""More devices that have a copy of a part, so that several requests run side by side."""

DEVICES = "glow.devices"
"""Of a module: the devices that it is divided between, with the memory of each."""

PADDED_AXES = "glow.padded_axes"
"""Of arguments, results and constants: the axes that are longer than what a call has."""

PADDED_PER_STEP = "glow.padded_per_step"
"""How many elements each of the padded axes is longer by for each step of padding, if not one.

0 is for a part of a step, of which only what the axis meets knows the size."""

FROM_END = "glow.from_end"
"""Of a slice: the axes of which it takes what is so far from the end, where padding follows."""

COUNTS = "glow.counts"
"""Of a splat of a size: `array<f32: 12.0, 4.0>` is 12 where inputs have 4 steps of padding."""

CLAMPED = "glow.clamped"
"""Of a list of places on a padded axis: on a shorter one they end at its last element."""

FRONT_PADDED_AXES = "glow.front_padded_axes"
"""The same of axes that are padded before their first element."""

AROUND_PADDED_AXES = "glow.around_padded_axes"
"""Of constants: the axes that have as many more elements at either end, as those of distances."""

PART_OF_MOVE = "glow.part_of_move"
"""Of a node that is another one for other sizes: all is well if it moves distances to words."""

TRUE_IN_PADDING = "glow.true_in_padding"
"""Of a comparison: it holds for all that padding adds, as who made it knows and no pass can."""

GENERATOR = "generator"
"""The variable of a generator of random numbers that gets its key where a model is made."""

BACKEND = "glow.backend"
"""Of a node: the backend that it is assigned to (`assign-backends`), which is printed as
`backend "npu"`."""


class FilledOutput(NamedTuple):
    """An input and the output that it is written into, by numbers."""

    input: int
    output: int
    offsets: tuple[int, ...]
    """Where it begins, on each axis."""

    def fill(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Write it."""
        source = inputs[self.input]
        self.part(source.shape, outputs)[...] = source

    def part(
        self, shape: Sequence[int], outputs: Sequence[Array] | Mapping[int, Array]
    ) -> Array:
        """The place of an input of some shape in the output."""
        pairs = zip(self.offsets, shape, strict=True)
        place = tuple(slice(start, start + size) for start, size in pairs)
        return outputs[self.output][place]


def filled_outputs(function: FuncOp) -> list[FilledOutput]:
    """What a function on buffers leaves to the caller, by numbers of its arguments."""
    from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
    from xdsl.utils.hints import isa

    from glow.dialects.attributes import array_values

    entries = function.attributes.get(FILLED)
    if not isa(entries, ArrayAttr[DenseArrayBase]):
        return []
    listed = (tuple(map(int, array_values(entry))) for entry in entries)
    return [FilledOutput(one[0], one[1], one[2:]) for one in listed]


def set_filled_outputs(function: FuncOp, filled: Sequence[FilledOutput]) -> None:
    """Write what a function leaves to the caller into its attribute."""
    from xdsl.dialects.builtin import ArrayAttr

    from glow.dialects.attributes import ints_attr

    entries = [ints_attr(one.input, one.output, *one.offsets) for one in filled]
    function.attributes[FILLED] = ArrayAttr(entries)
