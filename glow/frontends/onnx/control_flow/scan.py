"""`Scan` as `scf.for` over the elements along an axis."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.bodies import (
    Bodies,
    HeldResults,
    Iteration,
    Results,
    checked_index,
    discard,
    stacking_loop,
    type_text,
    unknown,
)
from glow.frontends.onnx.control_flow.regions import INDEX, downwards, element
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.lists import tensors_in
from glow.frontends.onnx.node import OnnxNode, Operand, shape
from glow.frontends.onnx.refusal import NeedsValue, UnsupportedError, refuse_if


class ScanNode:
    """A `Scan`; `run` wants the scanned axis of its inputs in front."""

    def __init__(self, bodies: Bodies, node: OnnxNode, frame: Frame) -> None:
        self.bodies = bodies
        self.node = node
        self.frame = frame
        self.body = node.attr_graph("body")
        self.scanned = node.attr_int("num_scan_inputs", 0)
        fail_unless(
            0 < self.scanned <= len(self.body.input),
            f"num_scan_inputs is {self.scanned}, the body has {len(self.body.input)} "
            "inputs",
        )

    def numbers(self, name: str, count: int) -> list[int]:
        """An attribute with a number for each of some values; zeros by default."""
        given = self.node.attr_ints(name) or [0] * count
        fail_unless(
            len(given) == count, f"{name} has {len(given)} numbers, not {count}"
        )
        return given

    def run(
        self,
        initial: Sequence[Operand],
        stacks: Sequence[Operand],
        directions: tuple[Sequence[int], str],
        count: SSAValue | None = None,
    ) -> Results | None:
        """The last states and stacked outputs; None where the body is not supported.

        `directions` are those of the inputs, and the attribute with those of the outputs.
        Where there is a `count`, the iterations end with it.
        """
        graph, size = self.node.graph, self._length(stacks)
        values = [graph.value_of(value) for value in (*initial, *stacks)]
        block = Block(arg_types=[INDEX, *(v.type for v in values[: len(initial)])])
        index, *states = block.args
        with graph.inside(block), needs_refused(block):
            elements = [
                element(graph, stack, downwards(graph, index, size) if back else index)
                for stack, back in zip(
                    values[len(initial) :], directions[0], strict=True
                )
            ]
            given = [*states, *elements]
            results = _tensors(self.bodies.import_body(self.body, given, self.frame))
        if UNKNOWN in results:
            discard(block)
            return None
        for before, after in zip(initial, results, strict=False):
            one, other = type_text(before), type_text(after)
            fail_unless(one == other, f"a state is {one}, but becomes {other}")
        last, outputs = results[: len(initial)], results[len(initial) :]
        backwards = self.numbers(directions[1], len(outputs))
        iteration = Iteration(block, initial, last, outputs, list(map(bool, backwards)))
        return stacking_loop(graph, iteration, size, size if count is None else count)

    def _length(self, stacks: Sequence[Operand]) -> int:
        lengths = {shape(stack)[0] for stack in stacks}
        fail_unless(
            len(lengths) == 1, f"the scanned inputs have lengths {sorted(lengths)}"
        )
        return lengths.pop()


@contextmanager
def needs_refused(block: Block) -> Generator[None]:
    """Refuse a body that needs a number which it computes."""
    try:
        yield
    except NeedsValue as need:
        if need.block is not block:
            raise
        raise UnsupportedError(f"{need.what} computed in the body") from None


def _tensors(values: HeldResults) -> Results:
    tensors = tensors_in(values)
    fail_unless(tensors is not None, "a body gives what is no tensor")
    return tensors or []


def import_scan(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """An iteration for each element along an axis of the scanned inputs."""
    scan = ScanNode(bodies, node, frame)
    if node.opset < 9:
        return _batched_scan(scan)
    values = node.values()
    border = len(values) - scan.scanned
    axes = scan.numbers("scan_input_axes", scan.scanned)
    stacks = [
        _moved(node, value, axis, 0)
        for value, axis in zip(values[border:], axes, strict=True)
    ]
    turned = scan.numbers("scan_input_directions", scan.scanned)
    results = scan.run(values[:border], stacks, (turned, "scan_output_directions"))
    if results is None:
        return unknown(node)
    axes = scan.numbers("scan_output_axes", len(results) - border)
    return [
        *results[:border],
        *(
            _moved(node, value, 0, axis)
            for value, axis in zip(results[border:], axes, strict=True)
        ),
    ]


def _moved(node: OnnxNode, value: Operand, source: int, target: int) -> Operand:
    """The value with an axis at another place."""
    rank = len(shape(value))
    source, target = node.positive(source, rank), node.positive(target, rank)
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return node.transpose(value, order)


def _batched_scan(scan: ScanNode) -> HeldResults:
    """Opset 8: operands [batch, ...] and [batch, length, ...], each of its own length."""
    node, graph = scan.node, scan.node.graph
    values = [graph.value_of(node.value(n)) for n in range(1, len(node.inputs))]
    lengths = None
    if node.has(0):
        steps = shape(values[-1])[1]
        lengths = graph.value_of(checked_index(node, node.value(0), steps))
    border = len(values) - scan.scanned
    turned = scan.numbers("directions", scan.scanned)
    refuse_if(lengths is not None and any(turned), "directions with sequence_lens")
    block = Block(arg_types=[INDEX])
    (index,) = block.args
    with graph.inside(block):
        parts = [element(graph, value, index) for value in values]
        count = None if lengths is None else element(graph, lengths, index)
        results = scan.run(
            parts[:border], parts[border:], (turned, "no directions"), count
        )
    if results is None:
        discard(block)
        return unknown(node)
    batch = shape(values[0])[0]
    return [*stacking_loop(graph, Iteration(block, (), (), results), batch, batch)]
