"""Rules for `vector` ops between registers.

Broadcasts, extracted and inserted rows are list operations and print nothing. Lanes that move
are swizzles: `v1.s0123`, or `(float8)(v1.s0246, v2.s0246)` out of several registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from xdsl.dialects import vector
from xdsl.dialects.utils import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.vector import (
    FromElementsOp,
    GatherOp,
    ShapeCastOp,
    ToElementsOp,
)
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.loops_to_llvm.layout import row_major
from glow.lowering.loops_to_llvm.lazy import pick
from glow.lowering.loops_to_llvm.vectors import static_positions, stretched_rows
from glow.lowering.opencl_c.arithmetic import narrowed, widened
from glow.lowering.opencl_c.c_types import (
    RegisterLayout,
    is_boolean,
    signed,
    stored,
    type_name,
    unsigned,
)
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Registers, Rule
from glow.lowering.type_guards import is_vector

Lane = tuple[str, int, int]
"""A register, its lanes, and one of them."""

# Lanes -------------------------------------------------------------------------------


def lane_text(element: Attribute, lane: Lane) -> str:
    """A lane as a scalar."""
    register, lanes, number = lane
    if lanes == 1:
        return register
    text = f"{register}.s{number:x}"
    return f"({text} & 1)" if is_boolean(element) else text


def compose(element: Attribute, lanes: Sequence[Lane]) -> str:
    """A register out of lanes of others."""
    if len(lanes) == 1:
        return lane_text(element, lanes[0])
    parts: list[str] = []
    for (register, size), group in groupby(lanes, key=lambda lane: lane[:2]):
        numbers = [number for _, _, number in group]
        if size == 1:
            scalar = f"-{register}" if is_boolean(element) else register
            parts.extend([scalar] * len(numbers))
        else:
            parts.extend(swizzles(register, size, numbers))
    if len(parts) == 1:
        return parts[0]
    same = parts[:1] if len(set(parts)) == 1 and lanes[0][1] == 1 else parts
    return f"({type_name(element, len(lanes))})({', '.join(same)})"


def swizzles(register: str, size: int, numbers: list[int]) -> list[str]:
    """Some lanes of a register, in pieces that are vectors."""
    if numbers == list(range(size)):
        return [register]
    pieces: list[str] = []
    while numbers:
        length = 1 << (len(numbers).bit_length() - 1)
        pieces.append(f"{register}.s{''.join(f'{n:x}' for n in numbers[:length])}")
        numbers = numbers[length:]
    return pieces


def lanes_of_row(
    layout: RegisterLayout, registers: Registers, row: int
) -> Sequence[Lane]:
    """The lanes of a row in order."""
    places = [layout.place(row, lane) for lane in range(layout.width)]
    return [(registers[register], size, lane) for register, size, lane in places]


def cut(layout: RegisterLayout, lanes: Sequence[Lane]) -> list[str]:
    """The registers of a row of lanes."""
    return [
        compose(layout.element, lanes[first : first + count])
        for first, count in layout.chunks
    ]


# Broadcast ---------------------------------------------------------------------------


def broadcast(out: FunctionPrinter, op: vector.BroadcastOp) -> None:
    source, result = op.source, op.vector
    layout = out.layout(result)
    if not is_vector(source.type):
        scalar = out.scalar(source)
        define_once(out, result, lambda size: splat(layout, scalar, size))
        return
    before = out.layout(source)
    rows = stretched_rows(before.shape, layout.shape)
    registers = out.registers(source)
    if before.width == layout.width:
        pieces = len(layout.chunks)
        positions = [row * pieces + k for row in rows for k in range(pieces)]
        out.set_registers(result, pick(registers, positions))
        return
    pieces = len(layout.chunks)
    kept = {row: k for k, row in reversed(list(enumerate(rows)))}

    def spread(slot: int) -> str:
        lane = (registers[rows[slot // pieces]], 1, 0)
        return compose(layout.element, [lane] * layout.lanes[slot])

    slots = [kept[row] * pieces + k for row in rows for k in range(pieces)]
    out.define_lazily(result, spread, slots)


def splat(layout: RegisterLayout, scalar: str, size: int) -> str:
    """A scalar in all lanes."""
    return compose(layout.element, [(scalar, 1, 0)] * size)


def define_once(
    out: FunctionPrinter, result: SSAValue, text: Callable[[int], str]
) -> None:
    """Defines registers that are all equal, but for their number of lanes."""
    layout = out.layout(result)
    first = {lanes: k for k, lanes in reversed(list(enumerate(layout.lanes)))}
    lanes = layout.lanes
    out.define_lazily(
        result, lambda slot: text(lanes[slot]), [first[size] for size in lanes]
    )


# Rows --------------------------------------------------------------------------------


def positions_of(
    layout: RegisterLayout, position: Sequence[int]
) -> tuple[int, int] | None:
    """The first register and the number of those that a position names; None for a lane."""
    if len(position) > len(layout.shape):
        return None
    if DYNAMIC_INDEX in position:
        raise DiagnosticException("opencl-c: only the last position may be dynamic")
    steps, pieces = row_major(layout.shape), len(layout.chunks)
    first = sum(k * step for k, step in zip(position, steps, strict=False))
    rows = 1
    for extent in layout.shape[len(position) :]:
        rows *= extent
    return first * pieces, rows * pieces


def extract(out: FunctionPrinter, op: vector.ExtractOp) -> None:
    layout, registers = out.layout(op.vector), out.registers(op.vector)
    position = static_positions(op)
    found = positions_of(layout, position)
    if found is not None:
        first, count = found
        out.set_registers(op.result, pick(registers, range(first, first + count)))
        return
    row = row_of(layout, position)
    if position[-1] == DYNAMIC_INDEX:
        index = out.index_text(op.dynamic_position[-1])
        out.define(op.result, [dynamic_lane(out, layout, registers, row, index)])
        return
    number, size, lane = layout.place(row, position[-1])
    text = lane_text(layout.element, (registers[number], size, lane))
    out.define(op.result, [text])


def row_of(layout: RegisterLayout, position: Sequence[int]) -> int:
    """The row that the first numbers of a position name."""
    found = positions_of(layout, position[:-1])
    assert found is not None
    return found[0] // len(layout.chunks)


def dynamic_lane(
    out: FunctionPrinter,
    layout: RegisterLayout,
    registers: Registers,
    row: int,
    index: str,
) -> str:
    """The lane of a row that an index names, by way of memory."""
    lanes = lanes_of_row(layout, registers, row)
    name = out.new_name()
    texts = ", ".join(lane_text(layout.element, lane) for lane in lanes)
    out.line(f"{type_name(layout.element, 1)} {name}[{layout.width}] = {{{texts}}};")
    return f"{name}[{index}]"


def insert(out: FunctionPrinter, op: vector.InsertOp) -> None:
    layout, position = out.layout(op.dest), static_positions(op)
    registers = list(out.registers(op.dest))
    found = positions_of(layout, position)
    if found is not None:
        first, count = found
        registers[first : first + count] = out.registers(op.source)
        out.set_registers(op.result, registers)
        return
    row, pieces = row_of(layout, position), len(layout.chunks)
    source = (out.scalar(op.source), 1, 0)
    lanes = list(lanes_of_row(layout, registers, row))
    if position[-1] == DYNAMIC_INDEX:
        raise DiagnosticException("opencl-c: vector.insert needs a constant lane")
    lanes[position[-1]] = source
    number = layout.place(row, position[-1])[0]
    first, count = layout.chunks[number - row * pieces]
    text = compose(layout.element, lanes[first : first + count])
    name = out.new_name()
    out.line(f"const {type_name(layout.element, count)} {name} = {text};")
    registers[number] = name
    out.set_registers(op.result, registers)


# Shuffles ----------------------------------------------------------------------------


def shuffle(out: FunctionPrinter, op: vector.ShuffleOp) -> None:
    """Lanes of 1-D vectors; whole rows, which print nothing, of n-D ones."""
    mask = [int(lane) for lane in op.mask.iter_values()]
    lhs, rhs = out.layout(op.v1), out.layout(op.v2)
    left, right = out.registers(op.v1), out.registers(op.v2)
    if lhs.shape:
        size = len(lhs.lanes) // lhs.shape[0]
        both = [*left, *right]
        picked = [each for k in mask for each in both[k * size : (k + 1) * size]]
        out.set_registers(op.result, picked)
        return
    lanes = [*lanes_of_row(lhs, left, 0), *lanes_of_row(rhs, right, 0)]
    wanted = [lanes[max(0, k)] for k in mask]
    out.define(op.result, cut(out.layout(op.result), wanted))


def bitcast(out: FunctionPrinter, op: vector.BitcastOp) -> None:
    """The same bits, register by register where these hold as many; else lane by lane."""
    before, after = out.layout(op.source), out.layout(op.result)
    registers = out.registers(op.source)
    if before.width == after.width:
        pairs = zip(after.lanes, registers, strict=True)
        texts = [f"as_{type_name(after.element, n)}({text})" for n, text in pairs]
        out.define(op.result, texts)
        return
    texts: list[str] = []
    for row in range(before.rows):
        lanes = lanes_of_row(before, registers, row)
        for first, count in after.chunks:
            start, end = (
                k * before.width // after.width for k in (first, first + count)
            )
            joined = compose(before.element, lanes[start:end])
            texts.append(f"as_{type_name(after.element, count)}({joined})")
    out.define(op.result, texts)


def shape_cast(out: FunctionPrinter, op: ShapeCastOp) -> None:
    """The lanes of all rows in order, as other rows."""
    before, after = out.layout(op.source), out.layout(op.result)
    registers, rows = out.registers(op.source), range(before.rows)
    lanes = [lane for row in rows for lane in lanes_of_row(before, registers, row)]
    starts = [
        (row * after.width + first, count)
        for row in range(after.rows)
        for first, count in after.chunks
    ]
    texts = [compose(after.element, lanes[k : k + count]) for k, count in starts]
    out.define(op.result, texts)


def to_elements(out: FunctionPrinter, op: ToElementsOp) -> None:
    layout, registers = out.layout(op.source), out.registers(op.source)
    lanes = [
        lane
        for row in range(layout.rows)
        for lane in lanes_of_row(layout, registers, row)
    ]
    for element, lane in zip(op.elements, lanes, strict=True):
        out.define(element, [lane_text(layout.element, lane)])


def from_elements(out: FunctionPrinter, op: FromElementsOp) -> None:
    layout = out.layout(op.dest)
    lanes = [(out.scalar(element), 1, 0) for element in op.elements]
    width = max(1, layout.width)
    texts: list[str] = []
    for row in range(layout.rows):
        texts += cut(layout, lanes[row * width : (row + 1) * width])
    out.define(op.dest, texts)


def gather(out: FunctionPrinter, op: GatherOp) -> None:
    """All lanes of a buffer of one dimension, at places without a sign."""
    layout, places = out.layout(op.result), out.layout(op.indices)
    memory = out.memories[op.base]
    start = memory.at(map(out.index, op.offsets))
    lanes = lanes_of_row(places, out.registers(op.indices), 0)
    texts = [
        f"{memory.pointer}[{out.form_text(start)} + {lane_text(places.element, lane)}]"
        for lane in lanes
    ]
    out.define(op.result, cut(layout, [(text, 1, 0) for text in texts]))


# Reduction ---------------------------------------------------------------------------

PLAIN = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}
SIGNED = {"minsi": "min", "maxsi": "max"}
UNSIGNED = {"minui": "min", "maxui": "max"}
NUMBERS = {"minnumf": "fmin", "maxnumf": "fmax"}
NAN_TESTS = {"minimumf": ">", "maximumf": "<"}


def combine(kind: str, element: Attribute, lanes: int, lhs: str, rhs: str) -> str:
    """The combination of two registers."""
    if kind in PLAIN:
        return f"{lhs} {PLAIN[kind]} {rhs}"
    if kind in NUMBERS:
        return f"{NUMBERS[kind]}({lhs}, {rhs})"
    if kind in NAN_TESTS:
        test = f"({lhs} {NAN_TESTS[kind]} {rhs}) | ({rhs} != {rhs})"
        if lanes == 1:
            return f"{test} ? {rhs} : {lhs}"
        return f"select({lhs}, {rhs}, {test})"
    cast_ = signed if kind in SIGNED else unsigned
    a, b = (cast_(element, lanes, text) for text in (lhs, rhs))
    return stored(element, lanes, f"{(SIGNED | UNSIGNED)[kind]}({a}, {b})")


def reduction(out: FunctionPrinter, op: vector.ReductionOp) -> None:
    """A tree: the upper half is combined with the lower until one lane is left.

    The order is ours, as on all targets; registers are halves of a row of a power of two.
    """
    layout = out.layout(op.vector)
    parts = [*zip(layout.lanes, out.registers(op.vector), strict=True)]
    if len(set(layout.lanes)) == 1 and len(parts) & (len(parts) - 1) == 0:
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=True)
            parts = [(n, joined(out, op, n, a, b)) for (n, a), (_, b) in pairs]
    totals = [reduce_register(out, op, lanes, text) for lanes, text in parts]
    total = totals[0]
    for other in totals[1:]:
        total = joined(out, op, 1, total, other)
    if op.acc is not None:
        total = joined(out, op, 1, out.scalar(op.acc), total)
    out.set_registers(op.dest, [total])


def joined(out: FunctionPrinter, op: Operation, lanes: int, lhs: str, rhs: str) -> str:
    """A variable that holds the combination of two registers."""
    assert isinstance(op, vector.ReductionOp)
    element = out.layout(op.vector).element
    a, b = (widened(out, element, lanes, text) for text in (lhs, rhs))
    text = combine(op.kind.data.value, element, lanes, a, b)
    name = out.new_name()
    value = narrowed(out, element, lanes, text)
    out.line(f"const {type_name(element, lanes)} {name} = {value};")
    return name


def reduce_register(
    out: FunctionPrinter, op: Operation, lanes: int, register: str
) -> str:
    """The combination of all lanes of a register."""
    while lanes > 1:
        lanes //= 2
        register = joined(out, op, lanes, f"{register}.lo", f"{register}.hi")
    return register


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(vector.BroadcastOp, broadcast),
        entry(vector.ExtractOp, extract),
        entry(vector.InsertOp, insert),
        entry(vector.ShuffleOp, shuffle),
        entry(vector.BitcastOp, bitcast),
        entry(ShapeCastOp, shape_cast),
        entry(vector.ReductionOp, reduction),
        entry(GatherOp, gather),
        entry(ToElementsOp, to_elements),
        entry(FromElementsOp, from_elements),
    ]
)
