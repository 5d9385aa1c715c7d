"""Nodes that move and choose elements as ONNX operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.exporters.failures import CannotExport
from glow.exporters.onnx.elementwise import Export, with_attributes
from glow.exporters.onnx.writer import Writer, attribute_of

BEFORE_ALL = -(2**31)
"""An end before the first element, which a negative number near 0 would not be."""


def _numbers(op: NodeOp, name: str) -> list[int]:
    found = attribute_of(op, name)
    assert isinstance(found, list)
    return [int(number) for number in found]


def _to_shape(operator: str) -> Export:
    """The target's shape is an input."""

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        sizes = shape_of(op.results[0])
        empty = 1 if operator == "Reshape" and 0 in sizes else None
        names = [*inputs, writer.integers(sizes, "shape")]
        writer.emit(operator, names, output, allowzero=empty)

    return export


def _slice(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    starts, sizes, steps = (_numbers(op, name) for name in ("starts", "sizes", "steps"))
    ends = [
        start + size * step
        for start, size, step in zip(starts, sizes, steps, strict=True)
    ]
    ends = [end if end >= 0 else BEFORE_ALL for end in ends]
    numbers = (starts, ends, list(range(len(starts))), steps)
    names = ("starts", "ends", "axes", "steps")
    more = [writer.integers(n, name) for n, name in zip(numbers, names, strict=True)]
    writer.emit("Slice", [*inputs, *more], output)


def _pad(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    mode = attribute_of(op, "mode")
    names = [*inputs, writer.integers(_numbers(op, "pads"), "pads")]
    if mode == "constant":
        value = float(str(attribute_of(op, "value")))
        names.append(writer.scalar(value, element_of(op.operands[0])))
    writer.emit("Pad", names, output, mode=mode)


def _tile(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    repeats = writer.integers(_numbers(op, "repeats"), "repeats")
    writer.emit("Tile", [*inputs, repeats], output)


def _indices(
    writer: Writer, value: SSAValue, name: str, types: Sequence[type[np.generic]]
) -> str:
    """Indices in a type that the operator takes."""
    if dtype_of(element_of(value)).type in types:
        return name
    from onnx import TensorProto

    return writer.emit("Cast", [name], to=TensorProto.INT64)


def _gather(operator: str, attribute: str, *types: type[np.generic]) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        indices = _indices(writer, op.operands[1], inputs[1], types)
        given = {attribute: attribute_of(op, attribute)}
        writer.emit(operator, [inputs[0], indices], output, **given)

    return export


def _scatter(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    """ScatterND where the k indices are the first coordinates and windows follow."""
    coordinates = _numbers(op, "coordinates")
    axis = coordinates.index(-1)
    if coordinates == [k if k != axis else -1 for k in range(len(coordinates))]:
        _scatter_elements(writer, op, inputs, output, axis)
        return
    depth = shape_of(op.operands[1])[-1]
    batch = len(shape_of(op.operands[1])) - 1
    windows = len(coordinates) - depth
    expected = [*(-1 - j for j in range(depth)), *range(batch, batch + windows)]
    if coordinates != expected:
        raise CannotExport("with these coordinates")
    indices = _indices(writer, op.operands[1], inputs[1], (np.int64,))
    reduction = attribute_of(op, "reduction")
    writer.emit(
        "ScatterND", [inputs[0], indices, inputs[2]], output, reduction=reduction
    )


def _scatter_elements(
    writer: Writer, op: NodeOp, inputs: list[str], output: str, axis: int
) -> None:
    """One axis is that of the indices, the others are those of the updates."""
    data, indices, updates = inputs
    shape = writer.integers(shape_of(op.operands[2]), "shape")
    places = _indices(writer, op.operands[1], indices, INDEX)
    places = writer.emit("Reshape", [places, shape])
    reduction = attribute_of(op, "reduction")
    writer.emit(
        "ScatterElements",
        [data, places, updates],
        output,
        axis=axis,
        reduction=reduction,
    )


def _sample(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    """Weighted sums of elements that Gather chooses, where the tables are constants."""
    places, weights = (stored_value(op.operands[k]) for k in (1, 2))
    if places is None or weights is None or places.ndim != 2:
        raise CannotExport("with tables that are computed")
    axis = int(str(attribute_of(op, "axis")))
    source, element = shape_of(op.operands[0]), element_of(op.operands[0])
    rows: npt.NDArray[np.int64] = places.astype(np.int64)
    inside = (rows >= 0) & (rows < source[axis])
    kept = np.where(inside, weights, 0).astype(dtype_of(element))
    after = [1] * (len(source) - axis - 1)
    chosen = writer.constant(np.where(inside, rows, 0), "places")
    factors = writer.constant(kept.reshape(*kept.shape, *after), "weights")
    gathered = writer.emit("Gather", [inputs[0], chosen], axis=axis)
    terms = writer.emit("Mul", [gathered, factors])
    operator = "ReduceMax" if attribute_of(op, "largest") else "ReduceSum"
    axes = writer.integers([axis + 1], "axes")
    writer.emit(operator, [terms, axes], output, keepdims=0)


def _cumulative(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    operator = {"sum": "CumSum", "prod": "CumProd"}[str(attribute_of(op, "kind"))]
    if operator == "CumProd":
        writer.need(26)
    axis = writer.constant(np.array(attribute_of(op, "axis"), np.int64), "axis")
    flags = {name: attribute_of(op, name) for name in ("exclusive", "reverse")}
    writer.emit(operator, [*inputs, axis], output, **flags)


def _top_k(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    if dtype_of(element_of(op.results[1])) != np.int64:
        raise CannotExport("with indices of other types than i64")
    count = writer.integers([int(str(attribute_of(op, "k")))], "k")
    largest = 1 - int(bool(attribute_of(op, "smallest")))
    outputs = [output, writer.name(op.results[1])]
    writer.emit("TopK", [*inputs, count], outputs, axis=-1, largest=largest)


def _bitcast(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    writer.need(26)
    writer.emit(
        "BitCast", inputs, output, to=writer.data_type(element_of(op.results[0]))
    )


INDEX = (np.int32, np.int64)

EXPORTS: Mapping[type[NodeOp], Export] = {
    glow.ReshapeOp: _to_shape("Reshape"),
    glow.BroadcastOp: _to_shape("Expand"),
    glow.TransposeOp: with_attributes("Transpose", perm="permutation"),
    glow.ConcatOp: with_attributes("Concat", axis="axis"),
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.TileOp: _tile,
    glow.GatherOp: _gather("Gather", "axis", *INDEX),
    glow.GatherElementsOp: _gather("GatherElements", "axis", *INDEX),
    glow.GatherNDOp: _gather("GatherND", "batch_dims", np.int64),
    glow.ScatterOp: _scatter,
    glow.SampleOp: _sample,
    glow.CumulativeOp: _cumulative,
    glow.TopKOp: _top_k,
    glow.BitcastOp: _bitcast,
}
"""Node class to what writes it."""
