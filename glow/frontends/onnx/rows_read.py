"""How many of the boxes that suppression selects are read by the rest of a model.

Detectors select boxes without a limit and keep the first few of them, which a limit finds too:

    NonMaxSuppression(boxes, scores, most) -> Gather<axis = 1> -> Squeeze -> Slice[:300]

The selection may be in a branch (where there are no boxes, there is nothing to select). The nodes
between leave rows where they are. Boxes come class by class, so a limit is one of those of the
first class: the handler takes it where there is but one.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress

from glow.dialects.errors import GlowError
from glow.frontends.onnx.messages import (
    AttributeProto,
    GraphProto,
    NodeProto,
    TensorProto,
)
from glow.frontends.onnx.registry import DEFAULT_DOMAINS
from glow.frontends.onnx.tensors import to_array

SELECTION = "NonMaxSuppression"

FOLLOWERS = ("Cast", "Gather", "Identity", "Slice", "Squeeze")
"""Operators that may leave the rows of their first operand where they are."""

INTEGERS = (TensorProto.INT32, TensorProto.INT64)

Numbers = MutableMapping[str, Sequence[int]]
"""The integers of constants by name."""


def rows_read(graph: GraphProto) -> dict[str, int]:
    """The rows that are read of the results of selections, by name, where that is known."""
    graphs = list(_graphs(graph))
    nodes = [node for one in graphs for node in one.node]
    if not any(node.op_type == SELECTION for node in nodes):
        return {}
    reads = Counter(name for node in nodes for name in node.input)
    reads.update(value.name for one in graphs for value in one.output)
    found: list[tuple[str, int]] = []
    _search(graph, {}, ChainMap(), reads, found)
    names = Counter(name for node in nodes for name in node.output)
    return {name: rows for name, rows in found if names[name] == 1}


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all inside of it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _search(
    graph: GraphProto,
    wanted: Mapping[str, int],
    outer: ChainMap[str, Sequence[int]],
    reads: Counter[str],
    found: list[tuple[str, int]],
) -> None:
    """Find the selections of a graph, some of whose outputs have so many rows that are read."""
    numbers = outer.new_child(_numbers(graph))
    rows = dict(wanted)
    for node in reversed(graph.node):
        limit = rows.get(node.output[0]) if node.output else None
        for body in (one.g for one in node.attribute if one.HasField("g")):
            names = [value.name for value in body.output if node.op_type == "If"]
            inner = {
                name: rows[result]
                for name, result in zip(names, node.output, strict=False)
                if result in rows and reads[name] == 1
            }
            _search(body, inner, numbers, reads, found)
        if node.domain not in DEFAULT_DOMAINS or not node.input:
            continue
        if node.op_type == SELECTION and limit is not None:
            found.append((node.output[0], limit))
        elif node.op_type in FOLLOWERS and reads[node.input[0]] == 1:
            limit = _limit_of_operand(node, limit, numbers)
            if limit is not None:
                rows[node.input[0]] = limit


def _limit_of_operand(
    node: NodeProto, limit: int | None, numbers: Numbers
) -> int | None:
    """The rows of the first operand that are read for so many of the result."""
    if node.op_type == "Slice":
        return _limit_of_sliced(node, limit, numbers)
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type == "Gather" and not (
        "axis" in attributes and attributes["axis"].i > 0
    ):
        return None
    if node.op_type == "Squeeze":
        given = attributes["axes"].ints if "axes" in attributes else None
        axes = _operand(node, 1, numbers) if given is None else given
        if axes is None or any(axis <= 0 for axis in axes):
            return None
    return limit


def _limit_of_sliced(
    node: NodeProto, limit: int | None, numbers: Numbers
) -> int | None:
    """The limit, or where a slice from the first row on ends."""
    starts, ends, axes, steps = (_operand(node, n, numbers) for n in range(1, 5))
    if not (starts and ends and axes):
        return None
    if min(axes) < 0 or (len(node.input) > 4 and set(steps or (0,)) != {1}):
        return None
    for axis, start, end in zip(axes, starts, ends, strict=False):
        if axis == 0 and (start != 0 or end < 0):
            return None
        if axis == 0:
            limit = end if limit is None else min(limit, end)
    return limit


def _operand(node: NodeProto, number: int, numbers: Numbers) -> Sequence[int] | None:
    return numbers.get(node.input[number]) if number < len(node.input) else None


def _numbers(graph: GraphProto) -> Numbers:
    """The integers of constants, and of small initializers that no input replaces."""
    given = {value.name for value in graph.input}
    found: Numbers = {}
    for tensor in graph.initializer:
        if tensor.name not in given:
            _note(tensor, tensor.name, found)
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            found[node.output[0]] = attribute.ints or [attribute.i]
            if attribute.type == AttributeProto.TENSOR:
                _note(attribute.t, node.output[0], found)
    return found


def _note(tensor: TensorProto, name: str, found: Numbers) -> None:
    """Read a tensor that may be an operand of a slice."""
    found.pop(name, None)
    if len(tensor.dims) <= 1 and tensor.data_type in INTEGERS:
        with suppress(GlowError):  # Others read it where that matters.
            found[name] = to_array(tensor).ravel().tolist()
