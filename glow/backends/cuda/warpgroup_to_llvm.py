"""Copies of tiles, barriers with phases, and products of warpgroups as PTX in LLVM IR.

LLVM has no intrinsics for `wgmma`, and ones for the rest whose form changes from version to
version; a table of PTX is shorter, and says what the hardware does. A product of tiles is one text,
so that nothing comes between its instructions:

    wgmma.fence; wgmma.mma_async (for each 32 bytes of the depth); commit; wait

Sums are registers that the text reads and writes. What reads them behind a wait takes them from an
empty text, so that LLVM does not move it before. Products of `nvvm` are a text each, as in
upstream's lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cuda.kernel_lowering import SHARED, KernelLowering
from glow.backends.cuda.kernels.gpu_builder import BARRIER_BYTES
from glow.dialects import llvm
from glow.dialects.gpu import bulk_copies, nvvm, warpgroups, wgmma
from glow.dialects.gpu.matrix_descriptor import FIELD, MatrixDescriptor
from glow.dialects.tensor_types import element_of, shape_of
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Memory,
    Rule,
    entry,
)

MEMORY = "~{memory}"
"""That a text reads and writes memory."""

BARRIER_TEXTS: Mapping[type[Operation], str] = {
    bulk_copies.InitOp: "mbarrier.init.shared::cta.b64 [$0], $1;",
    bulk_copies.ArriveOp: "mbarrier.arrive.shared::cta.b64 _, [$0];",
    bulk_copies.ExpectOp: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
    # A thread sleeps for a time that the hardware chooses, and looks again.
    bulk_copies.TryWaitOp: "{\n.reg .pred done;\nagain:\n"
    "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
    "@!done bra again;\n}",
}
"""Of the address of a barrier, and a number."""

FORMATS: Mapping[Attribute, tuple[str, str]] = {
    f16: ("f32.f16.f16", ", 1, 1, 0, 0"),
    bf16: ("f32.bf16.bf16", ", 1, 1, 0, 0"),
    warpgroups.TF32: ("f32.tf32.tf32", ", 1, 1"),
}
"""PTX's name of a product, and what stands behind whether it adds: signs, transpositions."""


def assembly_properties(text: str, constraints: str) -> Mapping[str, Attribute]:
    """What an operation says that is a text of PTX with effects."""
    return {
        "asm_string": StringAttr(text),
        "constraints": StringAttr(constraints),
        "has_side_effects": UnitAttr(),
    }


def assembly(
    low: FunctionLowering, text: str, constraints: str, operands: Sequence[SSAValue]
) -> None:
    """Appends a text of PTX without a result."""
    low.load_pending()
    listed = ",".join(filter(None, (constraints, MEMORY)))
    properties = assembly_properties(text, listed)
    low.builder.emit_no_result(xllvm.InlineAsmOp, operands, properties)


def updated(
    low: KernelLowering,
    text: str,
    registers: Sequence[SSAValue],
    operands: Sequence[SSAValue] = (),
    constraints: Sequence[str] = (),
) -> list[SSAValue]:
    """Returns registers that a text changes: $0, ...; the operands are behind them."""
    low.load_pending()
    count, letter = len(registers), "f" if registers[0].type == f32 else "r"
    listed = [*[f"={letter}"] * count, *constraints, *map(str, range(count)), MEMORY]
    struct = LLVMStructType.from_type_list([value.type for value in registers])
    values = [*operands, *registers]
    properties = assembly_properties(text, ",".join(listed))
    result = low.builder.emit(xllvm.InlineAsmOp, values, struct, properties)
    return low.parts_of(result)


def number_of(low: FunctionLowering, pointer: SSAValue) -> SSAValue:
    """Returns an address in shared memory."""
    return low.builder.emit(xllvm.PtrToIntOp, (pointer,), i32)


def create_barriers(low: FunctionLowering, op: bulk_copies.CreateOp) -> None:
    assert isinstance(low, KernelLowering)
    pointer = low.shared_pointer(low.barriers[op])
    low.memories[op.barriers] = Memory(pointer, (BARRIER_BYTES,))


def barrier_address(
    low: KernelLowering, barriers: SSAValue, number: SSAValue
) -> SSAValue:
    """Returns where a barrier is."""
    place = low.address(low.memories[barriers], [number])
    return number_of(low, low.cast(place, SHARED))


BarrierUse = (
    bulk_copies.InitOp
    | bulk_copies.ArriveOp
    | bulk_copies.ExpectOp
    | bulk_copies.TryWaitOp
)


def use_barrier(low: FunctionLowering, op: BarrierUse) -> None:
    """What the table says, of the barrier and what the operation has beside it."""
    assert isinstance(low, KernelLowering)
    operands = [barrier_address(low, op.barriers, op.number)]
    if isinstance(op, bulk_copies.InitOp):
        operands.append(low.materialize(low.index(op.count)))
    elif isinstance(op, bulk_copies.ExpectOp):
        operands.append(low.materialize(low.index(op.bytes_)))
    elif isinstance(op, bulk_copies.TryWaitOp):
        parity = low.scalar(op.parity)  # Which is 0 or 1, and not -1.
        operands.append(low.builder.emit(xllvm.ZExtOp, (parity,), i32))
    else:
        low.set_registers(op.token, ())
    assembly(low, BARRIER_TEXTS[type(op)], ",".join("r" * len(operands)), operands)


def load_tile(low: FunctionLowering, op: bulk_copies.LoadOp) -> None:
    assert isinstance(low, KernelLowering)
    target = low.pointer(low.memories[op.target])
    target = low.builder.emit(llvm.AddrSpaceCastOp, (target,), SHARED)
    coordinates = [low.materialize(low.index(value)) for value in op.coordinates]
    count = len(coordinates)
    listed = ", ".join(f"${2 + axis}" for axis in range(count))
    text = (
        f"cp.async.bulk.tensor.{count}d.shared::cluster.global"
        f".mbarrier::complete_tx::bytes [$0], [$1, {{{listed}}}], [${2 + count}];"
    )
    barrier = barrier_address(low, op.barriers, op.number)
    operands = [number_of(low, target), low.scalar(op.map_), *coordinates, barrier]
    assembly(low, text, ",".join(["r", "l", *["r"] * (count + 1)]), operands)


def generate_descriptor(
    low: FunctionLowering, op: warpgroups.GenerateDescriptorOp
) -> None:
    assert isinstance(low, KernelLowering)
    builder = low.builder
    pointer = low.pointer(low.memories[op.tensor])
    address = number_of(low, builder.emit(llvm.AddrSpaceCastOp, (pointer,), SHARED))
    shift, mask = builder.number(4, i32), builder.number(FIELD, i32)
    address = builder.emit(xllvm.LShrOp, (address, shift), i32)
    address = builder.emit(xllvm.AndOp, (address, mask), i32)
    wide = builder.emit(xllvm.ZExtOp, (address,), i64)
    rest = builder.number(MatrixDescriptor(0).signed_bits, i64)
    low.set_registers(op.descriptor, [builder.emit(xllvm.OrOp, (wide, rest), i64)])


def zero_sums(low: FunctionLowering, op: warpgroups.InitAccumulatorOp) -> None:
    types = low.layout(op.sums).types
    low.set_registers(op.sums, [low.builder.number(0.0, type_) for type_ in types])


def product_text(op: warpgroups.MmaOp, count: int) -> str:
    """The PTX of a product of tiles with so many sums; its descriptors are behind these."""
    tile = warpgroups.tensor_of(op.a)
    depth, size = shape_of(tile)[1], warpgroups.factor_bytes(element_of(tile))
    columns = shape_of(warpgroups.tensor_of(op.b))[1]
    name, flags = FORMATS[element_of(tile)]
    sums = ", ".join(f"${number}" for number in range(count))
    step = warpgroups.STEP_BYTES
    lines = [".reg .pred adds;", ".reg .b64 a, b;", "setp.eq.u32 adds, 0, 0;"]
    lines.append("wgmma.fence.sync.aligned;")
    for byte in range(0, depth * size, step):
        lines += [
            f"add.s64 a, ${count}, {byte >> 4};",
            f"add.s64 b, ${count + 1}, {byte >> 4};",
            f"wgmma.mma_async.sync.aligned.m64n{columns}k{step // size}.{name} "
            f"{{{sums}}}, a, b, adds{flags};",
        ]
    lines += [
        "wgmma.commit_group.sync.aligned;",
        f"wgmma.wait_group.sync.aligned {op.pending};",
    ]
    return "\n".join(["{", *lines, "}"])


def multiply_tiles(low: FunctionLowering, op: warpgroups.MmaOp) -> None:
    assert isinstance(low, KernelLowering)
    sums = low.registers(op.c)
    factors = [low.scalar(op.a), low.scalar(op.b)]
    text = product_text(op, len(sums))
    low.set_registers(op.res, updated(low, text, sums, factors, ("l", "l")))


def fragment(low: FunctionLowering, op: UnrealizedConversionCastOp) -> None:
    """What a thread has of sums, as pairs of neighbours."""
    assert isinstance(low, KernelLowering)
    builder = low.builder
    (result,) = op.results
    sums = updated(low, "", low.registers(op.operands[0]))
    pairs: list[SSAValue] = []
    for number, type_ in enumerate(low.layout(result).types):
        pair = builder.insert(sums[2 * number], builder.poison(type_), 0)
        pairs.append(builder.insert(sums[2 * number + 1], pair, 1))
    low.set_registers(result, pairs)


def text_alone(text: str) -> Callable[[FunctionLowering, Operation], None]:
    """The rule of an operation that is a text without operands."""
    return lambda low, _: assembly(low, text, "", ())


def wait_group(low: FunctionLowering, op: nvvm.WaitGroupOp) -> None:
    text = f"wgmma.wait_group.sync.aligned {op.group.value.data};"
    assembly(low, text, "", ())


FLAGS: Mapping[str, str] = {
    "f16": ", 1, 1, 0, 0",
    "bf16": ", 1, 1, 0, 0",
    "tf32": ", 1, 1",
}
"""What stands behind whether a product adds: signs, transpositions; nothing of bytes."""


def shared_address(
    low: FunctionLowering, op: memref.ExtractAlignedPointerAsIndexOp
) -> None:
    """Where shared memory begins, in its own space."""
    assert isinstance(low, KernelLowering)
    pointer = low.pointer(low.memories[op.source])
    pointer = low.builder.emit(llvm.AddrSpaceCastOp, (pointer,), SHARED)
    number = low.builder.emit(xllvm.PtrToIntOp, (pointer,), i32)
    low.set_registers(op.aligned_pointer, [number])


def fence_proxy(low: FunctionLowering, op: wgmma.FenceProxyOp) -> None:
    kind = op.kind.data
    if op.space is not None:
        kind = f"{kind}::{op.space.data}"
    assembly(low, f"fence.proxy.{kind};", "", ())


def wgmma_text(op: wgmma.MmaAsyncOp) -> str:
    """The PTX of a product; its descriptors are behind the sums."""
    count = op.columns // 2
    shape = f"m{op.shape.m.data}n{op.columns}k{op.shape.k.data}"
    kinds = ".".join(kind.data for kind in (op.type_d, op.type_a, op.type_b))
    sums = ", ".join(f"${number}" for number in range(count))
    flags = FLAGS.get(op.type_a.data, "")
    return (
        "{\n.reg .pred adds;\nsetp.eq.u32 adds, 0, 0;\n"
        f"wgmma.mma_async.sync.aligned.{shape}.{kinds} "
        f"{{{sums}}}, ${count}, ${count + 1}, adds{flags};\n}}"
    )


def begin_product(low: FunctionLowering, op: wgmma.MmaAsyncOp) -> None:
    assert isinstance(low, KernelLowering)
    factors = [low.scalar(op.a), low.scalar(op.b)]
    sums = updated(low, wgmma_text(op), low.registers(op.sums), factors, ("l", "l"))
    low.set_registers(op.result, sums)


def cast_sums(low: FunctionLowering, op: UnrealizedConversionCastOp) -> None:
    """Sums of what threads have, or what they have of sums.

    The former through an empty text, so that they are in their registers before the fence: LLVM
    would write constants to them between the products.
    """
    assert isinstance(low, KernelLowering)
    (result,) = op.results
    if not isinstance(result.type, LLVMStructType):
        fragment(low, op)
        return
    pairs = low.registers(op.operands[0])
    extract = low.builder.extract
    values = [extract(pair, lane) for pair in pairs for lane in (0, 1)]
    low.set_registers(result, updated(low, "", values))


RULES: Mapping[type[Operation], Rule] = dict(
    [
        entry(bulk_copies.CreateOp, create_barriers),
        entry(bulk_copies.InitOp, use_barrier),
        entry(bulk_copies.ArriveOp, use_barrier),
        entry(bulk_copies.ExpectOp, use_barrier),
        entry(bulk_copies.TryWaitOp, use_barrier),
        entry(bulk_copies.LoadOp, load_tile),
        entry(warpgroups.GenerateDescriptorOp, generate_descriptor),
        entry(warpgroups.InitAccumulatorOp, zero_sums),
        entry(warpgroups.MmaOp, multiply_tiles),
        entry(nvvm.FenceBarriersOp, text_alone("fence.mbarrier_init.release.cluster;")),
        entry(nvvm.WaitGroupOp, wait_group),
        entry(memref.ExtractAlignedPointerAsIndexOp, shared_address),
        entry(wgmma.FenceOp, text_alone("wgmma.fence.sync.aligned;")),
        entry(wgmma.CommitGroupOp, text_alone("wgmma.commit_group.sync.aligned;")),
        entry(wgmma.FenceProxyOp, fence_proxy),
        entry(wgmma.MmaAsyncOp, begin_product),
        entry(UnrealizedConversionCastOp, cast_sums),
    ]
)
