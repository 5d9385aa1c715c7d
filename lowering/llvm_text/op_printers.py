"""The table of the LLVM text printer: how each op of the llvm dialect is spelled.

What properties say is spelled once for all instructions that share them, which most do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import llvm
from glow.dialects.bounded_cache import bounded_cache, identity_cache
from glow.lowering.llvm_ir.function import Instruction, Register
from glow.lowering.llvm_text.function_printer import FunctionPrinter, Printer
from glow.lowering.llvm_text.text import constant_text, type_name

Numbers: TypeAlias = "DenseArrayBase[IntegerType]"
Properties: TypeAlias = "Mapping[str, Attribute]"


def flags_text(properties: Properties) -> str:
    """Returns the fastmath keywords of an op, each with a space behind, in one order:
    the attribute is a set, and the text is a cache key.
    """
    flags = properties.get("fastmathFlags")
    if not isinstance(flags, FastMathAttr) or not flags.data:
        return ""
    return "".join(f"{name} " for name in sorted(flag.value for flag in flags.data))


def overflow_text(properties: Properties) -> str:
    """Returns the overflow keywords of an integer op, each with a space behind."""
    return OVERFLOW[number_of(properties, "overflowFlags") or 0]


OVERFLOW = {0: "", 1: "nsw ", 2: "nuw ", 3: "nuw nsw "}


def number_of(properties: Properties, name: str) -> int | None:
    """Returns a property that is a number, None where it is missing."""
    number = properties.get(name)
    return number.value.data if isinstance(number, IntegerAttr) else None


def verify_properties(properties: Properties, known: set[str]) -> None:
    """Raises DiagnosticException for a property that the text would not carry."""
    for name in properties:
        if name not in known:
            raise DiagnosticException(f"llvm emission: unknown attribute {name}")


# Arithmetic ----------------------------------------------------------------------------


def binary(keyword: str, known: Iterable[str] = ()) -> Printer:
    """Returns the printer of `keyword flags type a, b`."""
    allowed = set(known)

    @identity_cache
    def head(properties: Properties) -> str:
        verify_properties(properties, allowed)
        return f"{keyword} {flags_text(properties)}{overflow_text(properties)}"

    return of_two(head)


def of_two(head: Callable[[Properties], str]) -> Printer:
    """Returns the printer of two operands of one type behind what properties say."""

    def printer(out: FunctionPrinter, op: Instruction) -> str:
        lhs, rhs = op.operands
        return f"{head(op.properties)}{lhs.typed}, {rhs.name}"

    return printer


def cast_printer(keyword: str) -> Printer:
    """Returns the printer of `keyword type a to type`."""

    def printer(out: FunctionPrinter, op: Instruction) -> str:
        if op.properties:
            verify_properties(op.properties, set())
        (source,) = op.operands
        return f"{keyword} {source.typed} to {type_name(op.type)}"

    return printer


def negation(out: FunctionPrinter, op: Instruction) -> str:
    return f"fneg {flags_text(op.properties)}{op.operands[0].typed}"


@identity_cache
def integer_predicate(properties: Properties) -> str:
    number = number_of(properties, "predicate")
    assert number is not None
    return f"icmp {xllvm.ICmpPredicateFlag.from_int(number)} "


@identity_cache
def float_predicate(properties: Properties) -> str:
    number = number_of(properties, "predicate")
    assert number is not None
    predicate = xllvm.FCmpPredicateFlag.from_int(number).value.removeprefix("_")
    return f"fcmp {flags_text(properties)}{predicate} "


@identity_cache
def selection_head(properties: Properties) -> str:
    return f"select {flags_text(properties)}"


def selection(out: FunctionPrinter, op: Instruction) -> str:
    return f"{selection_head(op.properties)}{typed(op.operands)}"


# Constants -----------------------------------------------------------------------------


def constant(out: FunctionPrinter, op: Instruction) -> None:
    out.set_name(op, constant_text(op.properties["value"], op.type))


def poison(out: FunctionPrinter, op: Instruction) -> None:
    out.set_name(op, "poison")


def zero(out: FunctionPrinter, op: Instruction) -> None:
    is_pointer = isinstance(op.type, LLVMPointerType)
    out.set_name(op, "null" if is_pointer else "zeroinitializer")


def symbol(out: FunctionPrinter, op: Instruction) -> None:
    name = op.properties["global_name"]
    assert isinstance(name, SymbolRefAttr)
    out.set_name(op, f"@{name.string_value()}")


# Memory --------------------------------------------------------------------------------

ADDRESS_PROPERTIES = {"rawConstantIndices", "elem_type", "noWrapFlags", "inbounds"}


def address(out: FunctionPrinter, op: Instruction) -> str:
    before, behind = address_ends(op.properties)
    pointer, *variables = op.operands
    if variables:
        behind = behind.format(*[variable.typed for variable in variables])
    return f"{before}{pointer.typed}{behind}"


@identity_cache
def address_ends(properties: Properties) -> tuple[str, str]:
    """What stands before the pointer and behind it, with a place for each operand there."""
    verify_properties(properties, ADDRESS_PROPERTIES)
    keyword = "getelementptr inbounds" if "inbounds" in properties else "getelementptr"
    indices = [
        ", {}" if index == xllvm.GEP_USE_SSA_VAL else f", i64 {index}"
        for index in numbers_of(cast(Numbers, properties["rawConstantIndices"]))
    ]
    return f"{keyword} {type_name(properties['elem_type'])}, ", "".join(indices)


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


@identity_cache
def access_ends(properties: Properties) -> tuple[str, str]:
    """Returns `atomic ` for an access with an ordering; this and the alignment."""
    verify_properties(properties, {"alignment", "ordering"})
    ordering = ORDERINGS[number_of(properties, "ordering") or 0]
    alignment = number_of(properties, "alignment")
    if alignment is None:
        raise DiagnosticException("llvm emission: no alignment")
    if not ordering:
        return "", f", align {alignment}"
    return "atomic ", f" {ordering}, align {alignment}"


def load(out: FunctionPrinter, op: Instruction) -> str:
    atomic, behind = access_ends(op.properties)
    (pointer,) = op.operands
    return f"load {atomic}{type_name(op.type)}, {pointer.typed}{behind}"


def store(out: FunctionPrinter, op: Instruction) -> str:
    atomic, behind = access_ends(op.properties)
    value, pointer = op.operands
    return f"store {atomic}{value.typed}, {pointer.typed}{behind}"


def stack_buffer(out: FunctionPrinter, op: Instruction) -> str:
    alignment = number_of(op.properties, "alignment")
    behind = "" if alignment is None else f", align {alignment}"
    return (
        f"alloca {type_name(op.properties['elem_type'])}, {typed(op.operands)}{behind}"
    )


# Vectors and structures ----------------------------------------------------------------


def typed(values: Sequence[Register]) -> str:
    """Returns operands with their types."""
    return ", ".join([value.typed for value in values])


def part(out: FunctionPrinter, op: Instruction) -> str:
    position = cast(Numbers, op.properties["position"])
    numbers = ", ".join(map(str, position.iter_values()))
    return f"extractvalue {typed(op.operands)}, {numbers}"


def insertion(out: FunctionPrinter, op: Instruction) -> str:
    return f"insertelement {typed(op.operands)}"


def extraction(out: FunctionPrinter, op: Instruction) -> str:
    return f"extractelement {typed(op.operands)}"


@identity_cache
def mask_text(properties: Properties) -> str:
    """Returns a shuffle mask; lane -1 is poison."""
    lanes = numbers_of(cast(Numbers, properties["mask"]))
    if not any(lanes):
        return f"<{len(lanes)} x i32> zeroinitializer"
    listed = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
    return f"<{len(lanes)} x i32> <{listed}>"


def shuffle(out: FunctionPrinter, op: Instruction) -> str:
    return f"shufflevector {typed(op.operands)}, {mask_text(op.properties)}"


# Calls ---------------------------------------------------------------------------------


def intrinsic_call(out: FunctionPrinter, op: Instruction) -> str:
    return print_call(out, op, *intrinsic_parts(op.properties))


@identity_cache
def intrinsic_parts(properties: Properties) -> tuple[str, str]:
    """Returns flags and name."""
    *_, bundles = numbers_of(cast(Numbers, properties["operandSegmentSizes"]))
    if bundles:
        raise DiagnosticException("llvm emission: operand bundles are not supported")
    return flags_text(properties), cast(StringAttr, properties["intrin"]).data


def inline_assembly(out: FunctionPrinter, op: Instruction) -> str:
    """Of what has effects, and depends on which threads run it together: passes leave it where it
    is, and do not copy it into branches.
    """
    properties = op.properties
    if "has_side_effects" not in properties or "is_align_stack" in properties:
        raise DiagnosticException(
            "llvm emission: inline_asm needs effects, and no aligned stack"
        )
    body, constraints = (
        cast(StringAttr, properties[name]).data
        for name in ("asm_string", "constraints")
    )
    body = body.replace("\n", "\\0A")
    return (
        f'call {type_name(op.type)} asm sideeffect "{body}", "{constraints}"'
        f"({typed(op.operands)}) convergent"
    )


def call(out: FunctionPrinter, op: Instruction) -> str:
    callee = op.properties.get("callee")
    *_, bundles = numbers_of(cast(Numbers, op.properties["operandSegmentSizes"]))
    is_plain = not bundles and "var_callee_type" not in op.properties
    if not isinstance(callee, SymbolRefAttr) or not is_plain:
        raise DiagnosticException("llvm emission: only plain direct calls")
    return print_call(out, op, flags_text(op.properties), callee.string_value())


def print_call(out: FunctionPrinter, op: Instruction, flags: str, name: str) -> str:
    """Prints a call and declares its callee."""
    result = type_name(op.type)
    if name not in out.declarations:
        out.declare(name, result, [type_name(each.type) for each in op.operands])
    return f"call {flags}{result} @{name}({typed(op.operands)})"


# Control flow --------------------------------------------------------------------------


def jump(out: FunctionPrinter, op: Instruction) -> str:
    (target,) = op.successors
    return f"br {out.branch(target, op.operands)}"


def conditional_jump(out: FunctionPrinter, op: Instruction) -> str:
    condition, *values = op.operands
    then_block, else_block = op.successors
    taken = len(then_block.args)
    then = out.branch(then_block, values[:taken])
    otherwise = out.branch(else_block, values[taken:])
    return f"br {condition.typed}, {then}, {otherwise}"


def function_return(out: FunctionPrinter, op: Instruction) -> str:
    return f"ret {typed(op.operands)}" if op.operands else "ret void"


def unreachable(out: FunctionPrinter, op: Instruction) -> str:
    return "unreachable"


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
    llvm.FreezeOp: lambda _, op: f"freeze {op.operands[0].typed}",
    llvm.PoisonOp: poison,
    xllvm.UndefOp: poison,
    xllvm.ZeroOp: zero,
    llvm.SelectOp: selection,
    xllvm.UnreachableOp: unreachable,
    xllvm.ConstantOp: constant,
    xllvm.ICmpOp: of_two(integer_predicate),
    llvm.FCmpOp: of_two(float_predicate),
    xllvm.GEPOp: address,
    xllvm.AddressOfOp: symbol,
    xllvm.ExtractValueOp: part,
    xllvm.LoadOp: load,
    xllvm.StoreOp: store,
    xllvm.AllocaOp: stack_buffer,
    xllvm.InsertElementOp: insertion,
    llvm.ExtractElementOp: extraction,
    xllvm.ShuffleVectorOp: shuffle,
    xllvm.CallIntrinsicOp: intrinsic_call,
    xllvm.InlineAsmOp: inline_assembly,
    xllvm.CallOp: call,
    xllvm.BrOp: jump,
    xllvm.CondBrOp: conditional_jump,
    xllvm.ReturnOp: function_return,
}
