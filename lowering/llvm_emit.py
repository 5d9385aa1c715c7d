"""From the llvm dialect to LLVM IR text, by a table.

xDSL's own conversion drops function attributes, fastmath of calls and alignment without
a word, and costs three times as much; this printer raises on every op, attribute and
type that it does not know. Intrinsics are declared once per name. The CPU and its
features are the target machine's business, not the text's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar, cast

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.llvm import (
    FastMathAttr,
    LLVMArrayType,
    LLVMFunctionType,
    LLVMPointerType,
    LLVMVoidType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import llvm
from glow.lowering.target import Target

OpT = TypeVar("OpT", bound=Operation)
Printer = Callable[["FunctionPrinter", Operation], None]

SIMPLE_TYPES: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
    LLVMPointerType: "ptr",
    LLVMVoidType: "void",
}


@cache
def type_name(type_: Attribute) -> str:
    """Returns the LLVM spelling of a type; raises for one that is not known."""
    if isinstance(type_, IntegerType):
        return f"i{type_.width.data}"
    if isinstance(type_, VectorType) and len(type_.get_shape()) == 1:
        return f"<{type_.get_shape()[0]} x {type_name(type_.element_type)}>"
    if isinstance(type_, LLVMArrayType):
        return f"[{type_.size.data} x {type_name(type_.type)}]"
    name = SIMPLE_TYPES.get(type(type_))
    if name is None:
        raise DiagnosticException(f"llvm emission: unknown type {type_}")
    return name


# Constants ---------------------------------------------------------------------------


def float_text(number: float, type_: Attribute) -> str:
    """Returns a float constant in hexadecimal, which is exact for NaN and infinities."""
    if isinstance(type_, Float64Type):
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if isinstance(type_, Float16Type):
        return f"0xH{half_bits(number):04X}"
    if isinstance(type_, BFloat16Type):
        return f"0xR{bfloat_bits(number):04X}"
    rounded = struct.unpack("<f", struct.pack("<I", single_bits(number)))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


def single_bits(number: float) -> int:
    """Returns the bits of a number rounded to f32; overflow gives infinity."""
    try:
        packed = struct.pack("<f", number)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if number > 0 else float("-inf"))
    return cast(int, struct.unpack("<I", packed)[0])


def half_bits(number: float) -> int:
    """Returns the bits of a number rounded to f16; overflow gives infinity."""
    try:
        packed = struct.pack("<e", number)
    except OverflowError:
        packed = struct.pack("<e", float("inf") if number > 0 else float("-inf"))
    return cast(int, struct.unpack("<H", packed)[0])


def bfloat_bits(number: float) -> int:
    """Returns the bits of a number rounded to nearest-even bf16."""
    bits = single_bits(number)
    if number != number:
        return 0x7FC0
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def scalar_text(number: float, type_: Attribute) -> str:
    """Returns a scalar constant."""
    if isinstance(type_, IntegerType):
        if type_.width.data == 1:
            return "true" if number else "false"
        return str(int(number))
    return float_text(float(number), type_)


def constant_text(value: Attribute, type_: Attribute) -> str:
    """Returns a constant operand without its type.

    Not cached for scalars: 0.0 and -0.0 are equal as attributes.
    """
    if isinstance(value, IntegerAttr | FloatAttr):
        return scalar_text(value.value.data, type_)
    return dense_text(value, type_)


@cache
def dense_text(value: Attribute, type_: Attribute) -> str:
    """Returns a vector constant without its type."""
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(
        type_, VectorType
    ):
        raise DiagnosticException(f"llvm emission: unknown constant {value}")
    numbers = cast(Sequence[float | int], value.get_values())
    element = type_.element_type
    name = type_name(element)
    if value.is_splat():
        return f"splat ({name} {scalar_text(numbers[0], element)})"
    lanes = ", ".join(f"{name} {scalar_text(number, element)}" for number in numbers)
    return f"<{lanes}>"


# Functions ---------------------------------------------------------------------------

ARGUMENT_ATTRIBUTES = {"llvm.noalias": "noalias", "llvm.nonnull": "nonnull"}
KNOWN_FUNCTION_PROPERTIES = {
    "sym_name",
    "function_type",
    "CConv",
    "linkage",
    "visibility_",
    "arg_attrs",
}


class FunctionPrinter:
    """Prints one function; names are given at the first use or definition."""

    def __init__(self, declarations: dict[str, str]):
        self.declarations = declarations
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.label = ""
        self.incoming: dict[SSAValue, list[str]] = {}

    def name(self, value: SSAValue) -> str:
        """Returns the text of an operand without its type."""
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = f"%v{len(self.names)}"
        return found

    def typed(self, value: SSAValue) -> str:
        """Returns the text of an operand with its type."""
        return f"{type_name(value.type)} {self.name(value)}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def result(self, op: Operation, text: str) -> None:
        """Prints an op with one result."""
        self.lines.append(f"  {self.name(op.results[0])} = {text}")

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Makes sure that the module declares a callee."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"

    def branch(self, target: Block, values: Sequence[SSAValue]) -> str:
        """Returns a label operand; the values go into the target's phi nodes."""
        for argument, value in zip(target.args, values, strict=True):
            place = f"[{self.name(value)}, %{self.label}]"
            self.incoming[argument].append(place)
        return f"label %{self.labels[target]}"

    def function(self, op: xllvm.FuncOp, attributes: str) -> str:
        """Returns the definition of a function."""
        head = self.head(op)
        blocks = list(op.body.blocks)
        self.labels = {block: f"b{k}" for k, block in enumerate(blocks)}
        self.incoming = {arg: [] for block in blocks[1:] for arg in block.args}
        bodies: list[tuple[Block, list[str]]] = []
        for block in blocks:
            self.lines, self.label = [], self.labels[block]
            bodies.append((block, self.lines))
            for body_op in block.ops:
                self.print_op(body_op)
        text = "\n".join(self.block_text(block, lines) for block, lines in bodies)
        return f"define {head} {attributes} {{\n{text}\n}}\n"

    def print_op(self, op: Operation) -> None:
        printer = PRINTERS.get(type(op))
        if printer is None:
            raise DiagnosticException(f"llvm emission: unknown op {op.name}")
        if op.attributes:
            names = ", ".join(op.attributes)
            raise DiagnosticException(
                f"llvm emission: unknown attribute {names} on {op.name}"
            )
        printer(self, op)

    def block_text(self, block: Block, lines: Sequence[str]) -> str:
        """Returns a block with its label and phi nodes."""
        phis = [
            f"  {self.name(arg)} = phi {type_name(arg.type)} "
            + ", ".join(self.incoming[arg])
            for arg in block.args
            if arg in self.incoming
        ]
        return "\n".join([f"{self.labels[block]}:", *phis, *lines])

    def head(self, op: xllvm.FuncOp) -> str:
        """Returns result type, name and arguments of a definition."""
        arguments = op.body.blocks[0].args
        attributes = argument_attributes(op)
        listed = [
            " ".join([type_name(arg.type), *extra, self.name(arg)])
            for arg, extra in zip(arguments, attributes, strict=True)
        ]
        result = type_name(op.function_type.output)
        return f"{linkage(op)}{result} @{op.sym_name.data}({', '.join(listed)})"


def linkage(op: xllvm.FuncOp) -> str:
    """Returns the linkage keyword with a space, nothing for external."""
    name = op.linkage.linkage.data
    if name not in ("external", "internal"):
        raise DiagnosticException(f"llvm emission: unknown linkage {name}")
    return "" if name == "external" else "internal "


def argument_attributes(op: xllvm.FuncOp) -> list[list[str]]:
    """Returns the LLVM attributes of each argument; raises for unknown ones."""
    if op.arg_attrs is None:
        return [[] for _ in op.function_type.inputs]
    attributes: ArrayAttr[DictionaryAttr] = op.arg_attrs
    for name in {name for data in attributes for name in data.data}:
        if name not in ARGUMENT_ATTRIBUTES:
            raise DiagnosticException(
                f"llvm emission: unknown argument attribute {name}"
            )
    return [[ARGUMENT_ATTRIBUTES[name] for name in data.data] for data in attributes]


def verify_function(op: xllvm.FuncOp) -> None:
    """Raises DiagnosticException for a property that the text would not carry."""
    unknown = [*set(op.properties) - KNOWN_FUNCTION_PROPERTIES, *op.attributes]
    if unknown:
        raise DiagnosticException(
            f"llvm emission: unknown attribute {unknown[0]} on @{op.sym_name.data}"
        )


def emit_functions(functions: Iterable[xllvm.FuncOp], target: Target) -> str:
    """Returns the LLVM IR text of functions with the declarations that they need."""
    bits = target.vector_bytes * 8
    attributes = f'nounwind "prefer-vector-width"="{bits}"'
    declarations: dict[str, str] = {}
    texts: list[str] = []
    defined: set[str] = set()
    for op in functions:
        verify_function(op)
        if op.body.blocks:
            defined.add(op.sym_name.data)
            texts.append(FunctionPrinter(declarations).function(op, attributes))
        else:
            declare_function(declarations, op.sym_name.data, op.function_type)
    needed = [text for name, text in declarations.items() if name not in defined]
    return "\n".join([*sorted(needed), "", *texts])


def declare_function(
    declarations: dict[str, str], name: str, type_: LLVMFunctionType
) -> None:
    """Adds a function's declaration."""
    inputs = ", ".join(type_name(input_) for input_ in type_.inputs)
    declarations[name] = f"declare {type_name(type_.output)} @{name}({inputs})"


def emit_module(ops: Iterable[Operation], target: Target) -> str:
    """Returns the LLVM IR text of a module's functions; raises for other ops."""
    functions: list[xllvm.FuncOp] = []
    for op in ops:
        if not isinstance(op, xllvm.FuncOp):
            raise DiagnosticException(f"llvm emission: unknown op {op.name}")
        functions.append(op)
    return emit_functions(functions, target)


# Ops ---------------------------------------------------------------------------------


def entry(
    op_class: type[OpT], printer: Callable[[FunctionPrinter, OpT], None]
) -> tuple[type[Operation], Printer]:
    """Returns one line of the table; ties the printer's op type to the key."""
    return op_class, cast(Printer, printer)


def flags_text(op: Operation) -> str:
    """Returns the fastmath keywords of an op, each with a space behind."""
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, FastMathAttr):
        return ""
    return "".join(f"{flag.value} " for flag in flags.data)


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
        type_ = type_name(op.results[0].type)
        out.result(op, f"{keyword} {out.typed(op.operands[0])} to {type_}")

    return printer


def negation(out: FunctionPrinter, op: Operation) -> None:
    out.result(op, f"fneg {flags_text(op)}{out.typed(op.operands[0])}")


def constant(out: FunctionPrinter, op: xllvm.ConstantOp) -> None:
    out.names[op.result] = constant_text(op.value, op.result.type)


def poison(out: FunctionPrinter, op: Operation) -> None:
    out.names[op.results[0]] = "poison"


def zero(out: FunctionPrinter, op: Operation) -> None:
    is_pointer = isinstance(op.results[0].type, LLVMPointerType)
    out.names[op.results[0]] = "null" if is_pointer else "zeroinitializer"


def integer_comparison(out: FunctionPrinter, op: xllvm.ICmpOp) -> None:
    predicate = xllvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    out.result(op, f"icmp {predicate} {out.typed(op.lhs)}, {out.name(op.rhs)}")


def float_comparison(out: FunctionPrinter, op: llvm.FCmpOp) -> None:
    flag = xllvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    predicate = flag.value.removeprefix("_")
    operands = f"{out.typed(op.lhs)}, {out.name(op.rhs)}"
    out.result(op, f"fcmp {flags_text(op)}{predicate} {operands}")


def selection(out: FunctionPrinter, op: Operation) -> None:
    operands = ", ".join(map(out.typed, op.operands))
    out.result(op, f"select {flags_text(op)}{operands}")


def address(out: FunctionPrinter, op: xllvm.GEPOp) -> None:
    verify_properties(
        op, {"rawConstantIndices", "elem_type", "noWrapFlags", "inbounds"}
    )
    dynamic = iter(op.ssa_indices)
    indices = [
        out.typed(next(dynamic)) if index == xllvm.GEP_USE_SSA_VAL else f"i64 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    keyword = "getelementptr inbounds" if op.inbounds is not None else "getelementptr"
    operands = ", ".join([type_name(op.elem_type), out.typed(op.ptr), *indices])
    out.result(op, f"{keyword} {operands}")


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
    type_ = type_name(op.dereferenced_value.type)
    text = f"load {atomic_keyword(op)}{type_}, {out.typed(op.ptr)}{access_suffix(op)}"
    out.result(op, text)


def store(out: FunctionPrinter, op: xllvm.StoreOp) -> None:
    operands = f"{out.typed(op.value)}, {out.typed(op.ptr)}"
    out.line(f"store {atomic_keyword(op)}{operands}{access_suffix(op)}")


def stack_buffer(out: FunctionPrinter, op: xllvm.AllocaOp) -> None:
    alignment = "" if op.alignment is None else f", align {op.alignment.value.data}"
    text = f"alloca {type_name(op.elem_type)}, {out.typed(op.size)}{alignment}"
    out.result(op, text)


def insertion(out: FunctionPrinter, op: xllvm.InsertElementOp) -> None:
    operands = ", ".join(map(out.typed, (op.vector, op.value, op.index)))
    out.result(op, f"insertelement {operands}")


def extraction(out: FunctionPrinter, op: llvm.ExtractElementOp) -> None:
    operands = ", ".join(map(out.typed, (op.vector, op.position)))
    out.result(op, f"extractelement {operands}")


@cache
def mask_text(mask: Attribute) -> str:
    """Returns a shuffle mask; lane -1 is poison."""
    lanes: Sequence[int] = mask.get_values()  # pyright: ignore
    if not any(lanes):
        return f"<{len(lanes)} x i32> zeroinitializer"
    listed = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
    return f"<{len(lanes)} x i32> <{listed}>"


def shuffle(out: FunctionPrinter, op: xllvm.ShuffleVectorOp) -> None:
    operands = ", ".join(map(out.typed, (op.v1, op.v2)))
    out.result(op, f"shufflevector {operands}, {mask_text(op.mask)}")


def intrinsic_call(out: FunctionPrinter, op: xllvm.CallIntrinsicOp) -> None:
    if op.op_bundle_operands:
        raise DiagnosticException("llvm emission: operand bundles are not supported")
    print_call(out, op, op.intrin.data, op.args)


def call(out: FunctionPrinter, op: xllvm.CallOp) -> None:
    if op.callee is None or op.op_bundle_operands or op.var_callee_type is not None:
        raise DiagnosticException("llvm emission: only plain direct calls")
    print_call(out, op, op.callee.string_value(), op.args)


def print_call(
    out: FunctionPrinter, op: Operation, name: str, operands: Sequence[SSAValue]
) -> None:
    """Prints a call and declares its callee."""
    result = type_name(op.results[0].type) if op.results else "void"
    out.declare(name, result, [type_name(operand.type) for operand in operands])
    listed = ", ".join(map(out.typed, operands))
    text = f"call {flags_text(op)}{result} @{name}({listed})"
    if op.results:
        out.result(op, text)
    else:
        out.line(text)


def jump(out: FunctionPrinter, op: xllvm.BrOp) -> None:
    out.line(f"br {out.branch(op.successor, op.arguments)}")


def conditional_jump(out: FunctionPrinter, op: xllvm.CondBrOp) -> None:
    then = out.branch(op.then_block, op.then_arguments)
    otherwise = out.branch(op.else_block, op.else_arguments)
    out.line(f"br {out.typed(op.cond)}, {then}, {otherwise}")


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
            entry(xllvm.LoadOp, load),
            entry(xllvm.StoreOp, store),
            entry(xllvm.AllocaOp, stack_buffer),
            entry(xllvm.InsertElementOp, insertion),
            entry(llvm.ExtractElementOp, extraction),
            entry(xllvm.ShuffleVectorOp, shuffle),
            entry(xllvm.CallIntrinsicOp, intrinsic_call),
            entry(xllvm.CallOp, call),
            entry(xllvm.BrOp, jump),
            entry(xllvm.CondBrOp, conditional_jump),
            entry(xllvm.ReturnOp, function_return),
        ]
    ),
}
