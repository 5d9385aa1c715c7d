"""Evaluates what stands behind the values of calls, with programs for chains of products.

A program computes a power of two of rows. Other numbers of rows take several, of which the last
may be filled up with zeros:

    437 rows -> 512        300 rows -> 256 + 32 + 16
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.compiled_model import Array, CompiledModel
from glow.dialects.glow import SelectBoxesOp
from glow.frontends.onnx import import_model
from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.programs.chains import Chain
from glow.frontends.onnx.programs.evaluated_rest import RestEvaluator
from glow.frontends.onnx.programs.starts import Start
from glow.garbage_collection import collection_paused
from glow.interpreter.evaluation import FUNCTIONS
from glow.specialization.selected_boxes import CompiledSelection

if TYPE_CHECKING:
    from glow.specialization.model_source import OnnxModel

MOST_ROWS = 1024
"""A program computes no more at once, nor ..."""

MOST_BYTES = 1 << 26
"""... rows of more bytes."""

LARGEST_PART_OF_ZEROS = 0.25
"""Rows that a program computes for nothing; with more of them the rows are split."""

KEPT = 16
"""The programs of a chain: for all its numbers of rows, and for some of its other sizes."""


class Evaluation:
    """The nodes of a model behind the values of calls, and the programs for some of them."""

    def __init__(
        self,
        model: OnnxModel,
        compile_part: Callable[[ModuleOp], CompiledModel],
        given: Container[str] = (),
    ) -> None:
        """`given` are the inputs of calls, and those that are fixed."""
        self.loaded = load_model(model)
        self.compile_part = compile_part
        own = {SelectBoxesOp: CompiledSelection(compile_part).run}
        self.evaluator = RestEvaluator(self.loaded, {**FUNCTIONS, **own}, given)
        self._programs: dict[int, dict[object, CompiledModel]] = {}
        """By the first node of a chain, and its inputs."""
        self._lock = Lock()

    @collection_paused()
    def run(
        self, end: Start, values: Mapping[str, Array]
    ) -> Mapping[str, Array] | None:
        """The outputs by name for what a call has computed; None if they want a compiler."""
        return self.evaluator.evaluate(end, values, self._run_chain)

    def _run_chain(self, chain: Chain, arrays: Sequence[Array]) -> Array | None:
        """The output of a chain; None if its inputs have other rows than it has."""
        by_rows = [arrays[number] for number in chain.by_rows]
        if by_rows[0].ndim < len(("row", "column")):
            return None
        rows = len(by_rows[0])
        row_bytes = max(1, sum(array.nbytes for array in by_rows) // max(1, rows))
        results = [
            self._compute(chain, arrays, first, count, size)
            for first, count, size in parts_of(rows, MOST_BYTES // row_bytes)
        ]
        return results[0] if len(results) == 1 else np.concatenate(results)

    def _compute(
        self, chain: Chain, arrays: Sequence[Array], first: int, count: int, size: int
    ) -> Array:
        """The results for `count` rows, by a program for `size`."""
        taken = [
            _rows(array, first, count, size) if number in chain.by_rows else array
            for number, array in enumerate(arrays)
        ]
        (result,) = self._program(chain, taken).run_in_order(taken)
        return result[:count]

    def _program(self, chain: Chain, arrays: Sequence[Array]) -> CompiledModel:
        """The program of a chain for inputs of such shapes."""
        inputs = tuple((array.shape, array.dtype) for array in arrays)
        kept = self._programs.setdefault(chain.nodes[0], {})
        if found := kept.get(inputs):
            return found
        with self._lock:
            if inputs not in kept:
                model = self.evaluator.model_of(chain, inputs)
                kept[inputs] = self.compile_part(import_model(model))
                while len(kept) > KEPT:
                    del kept[next(iter(kept))]
            return kept[inputs]


def parts_of(rows: int, most: int) -> Iterator[tuple[int, int, int]]:
    """The parts that rows are computed in: where each begins, its rows, and its program's.

    There is one without rows where there are none: it has the shape of the result.
    """
    largest = 1 << (max(1, min(most, MOST_ROWS)).bit_length() - 1)
    first = 0
    while first < rows or not first:
        rest = rows - first
        size = min(largest, 1 << max(0, rest - 1).bit_length())
        if size - rest > size * LARGEST_PART_OF_ZEROS:
            size //= 2
        size = max(1, size)
        yield first, min(rest, size), size
        first += size


def _rows(array: Array, first: int, count: int, size: int) -> Array:
    """Some rows of an array, with zeros behind them."""
    rows = array[first : first + count]
    if count < size:
        padded = np.zeros((size, *array.shape[1:]), array.dtype)
        padded[:count] = rows
        return padded
    return np.ascontiguousarray(rows)
