"""Non-maximum suppression of many boxes by programs, where the rest of a model is evaluated.

A detector has another number of candidates in each image. A program takes a power of two of
them: those that are missing are boxes without area that do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i1, i64
from xdsl.ir import Attribute

from glow.compiled_model import Array, CompiledModel
from glow.dialects.glow import SelectBoxesOp
from glow.dialects.node import tensor_type
from glow.interpreter.indexing import run_select_boxes
from glow.signature import program_of

FEW = 128
"""So many candidates are compared by the interpreter before a program is compiled."""


class CompiledSelection:
    """`glow.select_boxes` as a function of the interpreter."""

    def __init__(self, compile_module: Callable[[ModuleOp], CompiledModel]) -> None:
        self.compile_module = compile_module
        self._programs: dict[object, CompiledModel] = {}
        self._lock = Lock()

    def run(
        self,
        op: SelectBoxesOp,
        boxes: Array,
        order: Array,
        valid: Array,
        threshold: Array,
    ) -> tuple[Array, Array]:
        """The numbers of the boxes that are selected, and how many there are."""
        size = max(boxes.shape[1], order.shape[2])
        if size <= FEW:
            return run_select_boxes(op, boxes, order, valid, threshold)
        size, limit = _power_of_two(size), op.limit.value.data
        images, classes, _ = order.shape
        # Which boxes come first does not depend on how many are wanted.
        most = min(size, _power_of_two(limit))
        is_centered = op.center_point_box is not None
        program = self._program((images, classes, size, most), centered=is_centered)
        shapes = [(images, size, 4), *[(images, classes, size)] * 2]
        given = zip((boxes, order, valid), shapes, strict=True)
        arguments = [*(_filled(*one) for one in given), threshold]
        selected, count = program.run_in_order(arguments)
        return _cut(selected, limit), np.minimum(count, limit)

    def _program(
        self, sizes: tuple[int, int, int, int], *, centered: bool
    ) -> CompiledModel:
        """The program for images, classes, boxes and how many of these are selected."""
        key = sizes, centered
        if found := self._programs.get(key):
            return found
        with self._lock:
            if key not in self._programs:
                images, classes, size, most = sizes
                types = types_of(images, classes, size, size)
                attributes = {"limit": most, "center_point_box": centered}
                module = program_of(SelectBoxesOp, types, attributes)
                self._programs[key] = self.compile_module(module)
            return self._programs[key]


def types_of(
    images: int, classes: int, boxes: int, candidates: int
) -> list[TensorType[Attribute]]:
    """The types of the operands: boxes, their order, whether they count, and the threshold."""
    return [
        tensor_type((images, boxes, 4), f32),
        tensor_type((images, classes, candidates), i64),
        tensor_type((images, classes, candidates), i1),
        tensor_type((), f32),
    ]


def _power_of_two(number: int) -> int:
    """The next power of two, or the number."""
    return 1 << max(0, number - 1).bit_length()


def _filled(array: Array, shape: tuple[int, ...]) -> Array:
    """An array with zeros behind it."""
    found = np.zeros(shape, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found


def _cut(selected: Array, limit: int) -> Array:
    """The first boxes; a class that has fewer has zeros behind them already."""
    size = selected.shape[2]
    if limit <= size:
        return selected[:, :, :limit]
    return _filled(selected, (*selected.shape[:2], limit))
