"""The table of the LLVM text printer: how each op of the llvm dialect is spelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import llvm
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.llvm_text.function_printer import FunctionPrinter, Printer
from glow.lowering.llvm_text.text import constant_text, type_name

OpT = TypeVar("OpT", bound=Operation)
Sizes: TypeAlias = "DenseArrayBase[IntegerType]"


def entry(
    op_class: type[OpT], printer: Callable[[FunctionPrinter, OpT], None]
) -> tuple[type[Operation], Printer]:
    """Returns one line of the table; ties the printer's op type to the key."""
    return op_class, cast(Printer, printer)


def flags_text(op: Operation) -> str:
    """Returns the fastmath keywords of an op, each with a space behind, in one order:
    the attribute is a set, and the text is a cache key.
    """
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, FastMathAttr) or not flags.data:
        return ""
    return "".join(f"{name} " for name in sorted(flag.value for flag in flags.data))


def overflow_text(op: Operation) -> str:
    """Returns the overflow keywords of an integer op, each with a space behind."""
    flags = op.properties.get("overflowFlags")
    if not isinstance(flags, IntegerAttr):
        return ""
    return OVERFLOW[flags.value.data]


OVERFLOW = {0: "", 1: "nsw ", 2: "nuw ", 3: "nuw nsw "}


def binary(keyword: str, known: Iterable[str] = ()) -> Callable[..., None]:
    """Returns the printer of `keyword flags type a, b`."""
    allowed = set(known)

    def printer(out: FunctionPrinter, op: Operation) -> None:
        verify_properties(op, allowed)
        lhs, rhs = op.operands
        flags = flags_text(op) + overflow_text(op)
        out.result(op, f"{keyword} {flags}{out.typed(lhs)}, {out.name(rhs)}")

    return printer


def verify_properties(op: Operation, known: set[str]) -> None:
    """Raises DiagnosticException for a property that the text would not carry."""
    for name in op.properties:
        if name not in known:
            raise DiagnosticException(
                f"llvm emission: unknown attribute {name} on {op.name}"
            )


def cast_printer(keyword: str) -> Callable[..., None]:
    """Returns the printer of `keyword type a to type`."""

    def printer(out: FunctionPrinter, op: Operation) -> None:
        verify_properties(op, set())
        (source,), (result,) = op.operands, op.results
        out.result(op, f"{keyword} {out.typed(source)} to {out.type_text(result.type)}")

    return printer


def negation(out: FunctionPrinter, op: Operation) -> None:
    out.result(op, f"fneg {flags_text(op)}{out.typed(op.operands[0])}")


def constant(out: FunctionPrinter, op: xllvm.ConstantOp) -> None:
    (result,) = op.results
    out.names[result] = constant_text(op.value, result.type)


def poison(out: FunctionPrinter, op: Operation) -> None:
    out.names[op.results[0]] = "poison"


def zero(out: FunctionPrinter, op: Operation) -> None:
    is_pointer = isinstance(op.results[0].type, LLVMPointerType)
    out.names[op.results[0]] = "null" if is_pointer else "zeroinitializer"


def integer_comparison(out: FunctionPrinter, op: xllvm.ICmpOp) -> None:
    predicate = xllvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    lhs, rhs = op.operands
    out.result(op, f"icmp {predicate} {out.typed(lhs)}, {out.name(rhs)}")


def float_comparison(out: FunctionPrinter, op: llvm.FCmpOp) -> None:
    flag = xllvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    predicate = flag.value.removeprefix("_")
    lhs, rhs = op.operands
    operands = f"{out.typed(lhs)}, {out.name(rhs)}"
    out.result(op, f"fcmp {flags_text(op)}{predicate} {operands}")


def selection(out: FunctionPrinter, op: Operation) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.result(op, f"select {flags_text(op)}{operands}")


def address(out: FunctionPrinter, op: xllvm.GEPOp) -> None:
    verify_properties(
        op, {"rawConstantIndices", "elem_type", "noWrapFlags", "inbounds"}
    )
    pointer, *variables = op.operands
    dynamic = iter(variables)
    indices = [
        out.typed(next(dynamic)) if index == xllvm.GEP_USE_SSA_VAL else f"i64 {index}"
        for index in numbers_of(op.rawConstantIndices)
    ]
    keyword = "getelementptr inbounds" if op.inbounds is not None else "getelementptr"
    operands = ", ".join([out.type_text(op.elem_type), out.typed(pointer), *indices])
    out.result(op, f"{keyword} {operands}")


@bounded_cache
def numbers_of(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """Returns the integers of an attribute, which are few and recur."""
    return tuple(int(number) for number in array.iter_values())


ORDERINGS = {
    0: "",
    2: "monotonic",
    4: "acquire",
    5: "release",
    6: "acq_rel",
    7: "seq_cst",
}


def access_suffix(op: xllvm.LoadOp | xllvm.StoreOp) -> str:
    """Returns ordering and alignment of a memory access."""
    verify_properties(op, {"alignment", "ordering"})
    ordering = "" if op.ordering is None else ORDERINGS[op.ordering.value.data]
    if op.alignment is None:
        raise DiagnosticException(f"llvm emission: {op.name} without alignment")
    return f"{' ' + ordering if ordering else ''}, align {op.alignment.value.data}"


def atomic_keyword(op: xllvm.LoadOp | xllvm.StoreOp) -> str:
    """Returns `atomic ` for an access with an ordering."""
    return "atomic " if op.ordering is not None and op.ordering.value.data else ""


def load(out: FunctionPrinter, op: xllvm.LoadOp) -> None:
    (pointer,), (result,) = op.operands, op.results
    operands = f"{out.type_text(result.type)}, {out.typed(pointer)}"
    out.result(op, f"load {atomic_keyword(op)}{operands}{access_suffix(op)}")


def store(out: FunctionPrinter, op: xllvm.StoreOp) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.line(f"store {atomic_keyword(op)}{operands}{access_suffix(op)}")


def symbol(out: FunctionPrinter, op: xllvm.AddressOfOp) -> None:
    out.names[op.result] = f"@{op.global_name.string_value()}"


def part(out: FunctionPrinter, op: xllvm.ExtractValueOp) -> None:
    numbers = ", ".join(map(str, op.position.iter_values()))
    out.result(op, f"extractvalue {out.typed(op.container)}, {numbers}")


def stack_buffer(out: FunctionPrinter, op: xllvm.AllocaOp) -> None:
    alignment = "" if op.alignment is None else f", align {op.alignment.value.data}"
    text = f"alloca {type_name(op.elem_type)}, {out.typed(op.size)}{alignment}"
    out.result(op, text)


def insertion(out: FunctionPrinter, op: xllvm.InsertElementOp) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.result(op, f"insertelement {operands}")


def extraction(out: FunctionPrinter, op: llvm.ExtractElementOp) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.result(op, f"extractelement {operands}")


@bounded_cache
def mask_text(mask: DenseArrayBase[IntegerType]) -> str:
    """Returns a shuffle mask; lane -1 is poison."""
    lanes = numbers_of(mask)
    if not any(lanes):
        return f"<{len(lanes)} x i32> zeroinitializer"
    listed = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
    return f"<{len(lanes)} x i32> <{listed}>"


def shuffle(out: FunctionPrinter, op: xllvm.ShuffleVectorOp) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.result(op, f"shufflevector {operands}, {mask_text(op.mask)}")


def intrinsic_call(out: FunctionPrinter, op: xllvm.CallIntrinsicOp) -> None:
    *_, bundles = numbers_of(cast(Sizes, op.properties["operandSegmentSizes"]))
    if bundles:
        raise DiagnosticException("llvm emission: operand bundles are not supported")
    print_call(out, op, op.intrin.data, op.operands)


def inline_assembly(out: FunctionPrinter, op: xllvm.InlineAsmOp) -> None:
    """Of what has effects, and depends on which threads run it together: passes leave it where it
    is, and do not copy it into branches.
    """
    if op.has_side_effects is None or op.is_align_stack is not None:
        raise DiagnosticException(
            "llvm emission: inline_asm needs effects, and no aligned stack"
        )
    type_ = "void" if op.res is None else out.type_text(op.res.type)
    body = op.asm_string.data.replace("\n", "\\0A")
    operands = ", ".join(map(out.typed, op.operands_))
    text = (
        f'call {type_} asm sideeffect "{body}", "{op.constraints.data}"({operands}) '
        "convergent"
    )
    if op.res is None:
        out.line(text)
    else:
        out.result(op, text)


def call(out: FunctionPrinter, op: xllvm.CallOp) -> None:
    if op.callee is None or op.op_bundle_operands or op.var_callee_type is not None:
        raise DiagnosticException("llvm emission: only plain direct calls")
    print_call(out, op, op.callee.string_value(), op.args)


def print_call(
    out: FunctionPrinter, op: Operation, name: str, operands: Sequence[SSAValue]
) -> None:
    """Prints a call and declares its callee."""
    result = "void"
    for value in op.results:
        result = out.type_text(value.type)
    if name not in out.declarations:
        out.declare(name, result, [out.type_text(operand.type) for operand in operands])
    listed = ", ".join(map(out.typed, operands))
    text = f"call {flags_text(op)}{result} @{name}({listed})"
    if op.results:
        out.result(op, text)
    else:
        out.line(text)


def jump(out: FunctionPrinter, op: xllvm.BrOp) -> None:
    out.line(f"br {out.branch(op.successor, op.arguments)}")


def conditional_jump(out: FunctionPrinter, op: xllvm.CondBrOp) -> None:
    condition, *values = op.operands
    then_block, else_block = op.successors
    taken = len(then_block.args)
    then = out.branch(then_block, values[:taken])
    otherwise = out.branch(else_block, values[taken:])
    out.line(f"br {out.typed(condition)}, {then}, {otherwise}")


def function_return(out: FunctionPrinter, op: xllvm.ReturnOp) -> None:
    out.line("ret void" if op.arg is None else f"ret {out.typed(op.arg)}")


def unreachable(out: FunctionPrinter, op: Operation) -> None:
    out.line("unreachable")


WRAPPING = ("overflowFlags",)
FLOATING = ("fastmathFlags",)

PRINTERS: dict[type[Operation], Printer] = {
    xllvm.AddOp: binary("add", WRAPPING),
    xllvm.SubOp: binary("sub", WRAPPING),
    xllvm.MulOp: binary("mul", WRAPPING),
    xllvm.ShlOp: binary("shl", WRAPPING),
    xllvm.UDivOp: binary("udiv"),
    xllvm.SDivOp: binary("sdiv"),
    xllvm.URemOp: binary("urem"),
    xllvm.SRemOp: binary("srem"),
    xllvm.AndOp: binary("and"),
    xllvm.OrOp: binary("or"),
    xllvm.XOrOp: binary("xor"),
    xllvm.LShrOp: binary("lshr"),
    xllvm.AShrOp: binary("ashr"),
    xllvm.FAddOp: binary("fadd", FLOATING),
    xllvm.FSubOp: binary("fsub", FLOATING),
    xllvm.FMulOp: binary("fmul", FLOATING),
    xllvm.FDivOp: binary("fdiv", FLOATING),
    xllvm.FRemOp: binary("frem", FLOATING),
    xllvm.TruncOp: cast_printer("trunc"),
    xllvm.ZExtOp: cast_printer("zext"),
    xllvm.SExtOp: cast_printer("sext"),
    xllvm.BitcastOp: cast_printer("bitcast"),
    llvm.AddrSpaceCastOp: cast_printer("addrspacecast"),
    xllvm.PtrToIntOp: cast_printer("ptrtoint"),
    xllvm.FPExtOp: cast_printer("fpext"),
    xllvm.FPTruncOp: cast_printer("fptrunc"),
    xllvm.SIToFPOp: cast_printer("sitofp"),
    llvm.UIToFPOp: cast_printer("uitofp"),
    llvm.FPToSIOp: cast_printer("fptosi"),
    llvm.FPToUIOp: cast_printer("fptoui"),
    xllvm.FNegOp: negation,
    llvm.PoisonOp: poison,
    xllvm.UndefOp: poison,
    xllvm.ZeroOp: zero,
    llvm.SelectOp: selection,
    xllvm.UnreachableOp: unreachable,
    **dict(
        [
            entry(xllvm.ConstantOp, constant),
            entry(xllvm.ICmpOp, integer_comparison),
            entry(llvm.FCmpOp, float_comparison),
            entry(xllvm.GEPOp, address),
            entry(xllvm.AddressOfOp, symbol),
            entry(xllvm.ExtractValueOp, part),
            entry(xllvm.LoadOp, load),
            entry(xllvm.StoreOp, store),
            entry(xllvm.AllocaOp, stack_buffer),
            entry(xllvm.InsertElementOp, insertion),
            entry(llvm.ExtractElementOp, extraction),
            entry(xllvm.ShuffleVectorOp, shuffle),
            entry(xllvm.CallIntrinsicOp, intrinsic_call),
            entry(xllvm.InlineAsmOp, inline_assembly),
            entry(xllvm.CallOp, call),
            entry(xllvm.BrOp, jump),
            entry(xllvm.CondBrOp, conditional_jump),
            entry(xllvm.ReturnOp, function_return),
        ]
    ),
}
