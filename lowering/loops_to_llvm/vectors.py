"""Rules for `vector` ops between registers.

Broadcasts, extracted and inserted rows are list operations and emit nothing. Lanes that
cross the registers of a row are joined into one vector first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import vector
from xdsl.dialects.utils import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.vector import ShapeCastOp
from glow.lowering.loops_to_llvm.arithmetic import flags_of, float_properties
from glow.lowering.loops_to_llvm.builder import NO_OVERFLOW, NO_PROPERTIES, LlvmBuilder
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Registers,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    integer_width,
    lanes_of,
    register_type,
    row_major,
)
from glow.lowering.loops_to_llvm.lazy import LazyRegisters, is_lazy, pick
from glow.lowering.type_guards import is_vector

# Joining and splitting rows ----------------------------------------------------------


def join(low: FunctionLowering, registers: Sequence[SSAValue]) -> SSAValue:
    """Returns the lanes of several registers as one vector."""
    joined = registers[0]
    for register in registers[1:]:
        joined = concatenate(low.builder, joined, register)
    return joined


def concatenate(builder: LlvmBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Returns the lanes of two registers as one; the shorter is padded first, since a
    shuffle takes equal types.
    """
    left, right = lanes_of(lhs.type), lanes_of(rhs.type)
    width = max(left, right)
    lhs, rhs = resized(builder, lhs, width), resized(builder, rhs, width)
    mask = (*range(left), *range(width, width + right))
    return builder.shuffle(lhs, rhs, mask)


def resized(builder: LlvmBuilder, register: SSAValue, width: int) -> SSAValue:
    """Returns the first lanes of a register, padded with poison where too few."""
    have = lanes_of(register.type)
    if have == width:
        return register
    mask = tuple(lane if lane < have else -1 for lane in range(width))
    return builder.shuffle(register, builder.poison(register.type), mask)


def split(
    low: FunctionLowering, register: SSAValue, chunks: Sequence[tuple[int, int]]
) -> list[SSAValue]:
    """Returns a joined row cut into its registers."""
    if len(chunks) == 1:
        return [register]
    builder = low.builder
    poison = builder.poison(register.type)
    return [
        builder.shuffle(register, poison, tuple(range(first, first + width)))
        for first, width in chunks
    ]


# Broadcast ---------------------------------------------------------------------------


def broadcast(low: FunctionLowering, op: vector.BroadcastOp) -> None:
    source, result = op.source, op.vector
    layout = low.layout(result)
    if not is_vector(source.type):
        low.set_registers(result, splats(low, low.scalar(source), layout))
        return
    before = low.layout(source)
    rows = stretched_rows(before.shape, layout.shape)
    if before.width == layout.width:
        pieces = len(layout.chunks)
        positions = [row * pieces + k for row in rows for k in range(pieces)]
        low.set_registers(result, pick(low.registers(source), positions))
    else:
        registers = repeat_lane(low, low.registers(source), rows, layout)
        low.set_registers(result, registers)


def splats(
    low: FunctionLowering, scalar: SSAValue, layout: RegisterLayout
) -> list[SSAValue]:
    """Returns a scalar in all lanes of all registers."""
    types = dict.fromkeys(layout.row_types)
    row = {type_: low.builder.splat(scalar, type_) for type_ in types}
    return [row[type_] for type_ in layout.types]


def stretched_rows(before: tuple[int, ...], after: tuple[int, ...]) -> list[int]:
    """Returns for each row of a broadcast's result the source row that it repeats.

    Shapes are those of rows: without the last dimension.
    """
    shape = (1,) * (len(after) - len(before)) + before
    ranges = [
        [k * step if have > 1 else 0 for k in range(extent)]
        for extent, have, step in zip(after, shape, row_major(shape), strict=True)
    ]
    return [sum(parts) for parts in product(*ranges)]


def repeat_lane(
    low: FunctionLowering,
    registers: Registers,
    rows: Sequence[int],
    layout: RegisterLayout,
) -> Registers:
    """Returns rows of one lane spread over the lanes of the result, when first used."""
    builder = low.builder
    pieces = len(layout.chunks)

    def spread(slot: int) -> SSAValue:
        source = registers[slot // pieces]
        _, width = layout.chunks[slot % pieces]
        return builder.shuffle(source, builder.poison(source.type), (0,) * width)

    slots = [row * pieces + k for row in rows for k in range(pieces)]
    return LazyRegisters(spread, slots)


# Rows --------------------------------------------------------------------------------


def static_positions(op: vector.ExtractOp | vector.InsertOp) -> list[int]:
    """Returns the position of a row or element; dynamic only in the last dimension."""
    return [int(position) for position in op.static_position.iter_values()]


def row_range(layout: RegisterLayout, position: Sequence[int]) -> tuple[int, int]:
    """Returns the first row and the number of rows that a position names."""
    if DYNAMIC_INDEX in position:
        raise DiagnosticException(
            "loops-to-llvm: a dynamic vector position is possible in the last "
            "dimension only"
        )
    steps = row_major(layout.shape)
    first = sum(k * step for k, step in zip(position, steps, strict=False))
    return first, prod(layout.shape[len(position) :])


def extract(low: FunctionLowering, op: vector.ExtractOp) -> None:
    layout, registers = low.layout(op.vector), low.registers(op.vector)
    position = static_positions(op)
    if len(position) <= len(layout.shape):
        pieces = len(layout.chunks)
        first, rows = row_range(layout, position)
        picked = range(first * pieces, (first + rows) * pieces)
        low.set_registers(op.result, pick(registers, picked))
        return
    row, (piece, lane) = row_and_lane(low, op, layout, position)
    if isinstance(piece, int):
        register = registers[row * len(layout.chunks) + piece]
    else:
        register = join(low, row_registers(registers, layout, row))
    low.set_registers(op.result, [low.builder.extract(register, lane)])


def row_registers(registers: Registers, layout: RegisterLayout, row: int) -> Registers:
    """Returns the registers of one row."""
    pieces = len(layout.chunks)
    return registers[row * pieces : (row + 1) * pieces]


def row_and_lane(
    low: FunctionLowering,
    op: vector.ExtractOp | vector.InsertOp,
    layout: RegisterLayout,
    position: Sequence[int],
) -> tuple[int, tuple[int | None, int | SSAValue]]:
    """Returns the row, the register in it (None: dynamic) and the lane in that."""
    row, _ = row_range(layout, position[:-1])
    if position[-1] == DYNAMIC_INDEX:
        lane = low.materialize(low.index(op.dynamic_position[-1]))
        return row, (0 if len(layout.chunks) == 1 else None, lane)
    for piece, (first, width) in enumerate(layout.chunks):
        if first <= position[-1] < first + width:
            return row, (piece, position[-1] - first)
    raise DiagnosticException(f"loops-to-llvm: {op.name}: no lane {position[-1]}")


def insert(low: FunctionLowering, op: vector.InsertOp) -> None:
    layout = low.layout(op.dest)
    registers = list(low.registers(op.dest))
    position = static_positions(op)
    if len(position) <= len(layout.shape):
        pieces = len(layout.chunks)
        first, rows = row_range(layout, position)
        registers[first * pieces : (first + rows) * pieces] = low.registers(op.source)
    else:
        row, (piece, lane) = row_and_lane(low, op, layout, position)
        if piece is None:
            raise DiagnosticException(
                "loops-to-llvm: vector.insert at a dynamic lane needs a power of two"
            )
        where = row * len(layout.chunks) + piece
        registers[where] = insert_lane(
            low, registers[where], low.scalar(op.source), lane
        )
    low.set_registers(op.result, registers)


def insert_lane(
    low: FunctionLowering, register: SSAValue, value: SSAValue, lane: int | SSAValue
) -> SSAValue:
    """Returns a register with one lane replaced."""
    if isinstance(lane, int):
        return low.builder.insert(value, register, lane)
    operands = (register, value, lane)
    return low.builder.emit(xllvm.InsertElementOp, operands, register.type)


# Lanes -------------------------------------------------------------------------------


def shuffle(low: FunctionLowering, op: vector.ShuffleOp) -> None:
    """Lanes of 1-D vectors; whole rows, which emit nothing, of n-D ones."""
    mask = [int(lane) for lane in op.mask.iter_values()]
    lhs, rhs = low.layout(op.v1), low.layout(op.v2)
    if lhs.shape:
        low.set_registers(op.result, shuffle_rows(low, op, mask, lhs))
        return
    left, right = (join(low, low.registers(v)) for v in (op.v1, op.v2))
    width = max(lhs.width, rhs.width)
    left, right = (resized(low.builder, v, width) for v in (left, right))
    lanes = [lane if lane < lhs.width else lane - lhs.width + width for lane in mask]
    shuffled = low.builder.shuffle(left, right, tuple(lanes))
    chunks = low.layout(op.result).chunks
    low.set_registers(op.result, split(low, shuffled, chunks))


def shuffle_rows(
    low: FunctionLowering,
    op: vector.ShuffleOp,
    mask: Sequence[int],
    layout: RegisterLayout,
) -> list[SSAValue]:
    """Returns the sub-vectors along the leading dimension that the mask names."""
    size = len(layout.types) // layout.shape[0]
    registers = [*low.registers(op.v1), *low.registers(op.v2)]
    return [register for k in mask for register in registers[k * size : (k + 1) * size]]


def bitcast(low: FunctionLowering, op: vector.BitcastOp) -> None:
    before, after = low.layout(op.source), low.layout(op.result)
    registers = low.registers(op.source)
    builder = low.builder

    def cast(register: SSAValue) -> SSAValue:
        width = lanes_of(register.type) * before.element_bytes // after.element_bytes
        type_ = register_type(after.element, width)
        return builder.emit(xllvm.BitcastOp, (register,), type_)

    if [size * before.element_bytes for _, size in before.chunks] == [
        size * after.element_bytes for _, size in after.chunks
    ]:
        if is_lazy(registers):
            low.set_registers(op.result, registers.map(cast))
        else:
            low.set_registers(op.result, [cast(register) for register in registers])
        return
    results: list[SSAValue] = []
    for row in range(before.rows):
        whole = cast(join(low, row_registers(registers, before, row)))
        results += split(low, whole, after.chunks)
    low.set_registers(op.result, results)


def shape_cast(low: FunctionLowering, op: ShapeCastOp) -> None:
    """Parts of rows, cut out where they are asked for: contractions take whole rows."""
    before, after = low.layout(op.source), low.layout(op.result)
    each, rest = divmod(before.width, after.width)
    if rest or len(after.chunks) != 1:
        shapes = f"{op.source.type} to {op.result.type}"
        raise DiagnosticException(f"loops-to-llvm: {op.name} of {shapes} cuts no rows")

    def part(number: int) -> SSAValue:
        row, first = number // each, number % each * after.width
        whole = join(low, row_registers(low.registers(op.source), before, row))
        lanes = tuple(range(first, first + after.width))
        return low.builder.shuffle(whole, low.builder.poison(whole.type), lanes)

    low.set_registers(op.result, LazyRegisters(part, range(after.rows)))


# Reduction ---------------------------------------------------------------------------

Combine = Callable[[FunctionLowering, Operation, SSAValue, SSAValue], SSAValue]


def combine_float(op_class: type[Operation]) -> Combine:
    return lambda low, op, lhs, rhs: low.builder.emit(
        op_class, (lhs, rhs), lhs.type, float_properties(flags_of(op))
    )


def combine_integer(op_class: type[Operation]) -> Combine:
    wraps = op_class in (xllvm.AddOp, xllvm.MulOp)
    properties = NO_OVERFLOW if wraps else NO_PROPERTIES
    return lambda low, op, lhs, rhs: low.builder.emit(
        op_class, (lhs, rhs), lhs.type, properties
    )


def combine_intrinsic(name: str) -> Combine:
    return lambda low, op, lhs, rhs: low.builder.overloaded(
        name, (lhs, rhs), flags_of(op)
    )


COMBINE_FLOAT: dict[str, Combine] = {
    "add": combine_float(xllvm.FAddOp),
    "mul": combine_float(xllvm.FMulOp),
}
COMBINE: dict[str, Combine] = {
    "add": combine_integer(xllvm.AddOp),
    "mul": combine_integer(xllvm.MulOp),
    "and": combine_integer(xllvm.AndOp),
    "or": combine_integer(xllvm.OrOp),
    "xor": combine_integer(xllvm.XOrOp),
    "minsi": combine_intrinsic("llvm.smin"),
    "maxsi": combine_intrinsic("llvm.smax"),
    "minui": combine_intrinsic("llvm.umin"),
    "maxui": combine_intrinsic("llvm.umax"),
    "minnumf": combine_intrinsic("llvm.minnum"),
    "maxnumf": combine_intrinsic("llvm.maxnum"),
    "minimumf": combine_intrinsic("llvm.minimum"),
    "maximumf": combine_intrinsic("llvm.maximum"),
}


def reduction(low: FunctionLowering, op: vector.ReductionOp) -> None:
    """A tree: the upper half is combined with the lower until one lane is left.

    The order is ours and the same on every target and thread count.
    """
    element, kind = low.layout(op.vector).element, op.kind.data.value
    is_float = kind in COMBINE_FLOAT and not integer_width(element)
    combine = COMBINE_FLOAT[kind] if is_float else COMBINE[kind]
    parts = [
        reduce_register(low, op, register, combine)
        for register in low.registers(op.vector)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = combine(low, op, total, part)
    if op.acc is not None:
        total = combine(low, op, low.scalar(op.acc), total)
    low.set_registers(op.dest, [total])


def reduce_register(
    low: FunctionLowering, op: Operation, register: SSAValue, combine: Combine
) -> SSAValue:
    """Returns the combination of all lanes of a register."""
    builder = low.builder
    half = lanes_of(register.type) // 2
    while half:
        poison = builder.poison(register.type)
        lower = builder.shuffle(register, poison, tuple(range(half)))
        upper = builder.shuffle(register, poison, tuple(range(half, 2 * half)))
        register = combine(low, op, lower, upper)
        half //= 2
    return builder.extract(register, 0)


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(vector.BroadcastOp, broadcast),
        entry(vector.ExtractOp, extract),
        entry(vector.InsertOp, insert),
        entry(vector.ShuffleOp, shuffle),
        entry(vector.BitcastOp, bitcast),
        entry(ShapeCastOp, shape_cast),
        entry(vector.ReductionOp, reduction),
    ]
)
