"""From the llvm dialect to LLVM IR text, by a table.

xDSL's own conversion drops function attributes, fastmath of calls and alignment without
a word, and costs three times as much; this printer raises on every op, attribute and
type that it does not know. Intrinsics are declared once per name. The CPU and its
features are the target machine's business, not the text's.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.llvm import LLVMFunctionType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.llvm_text.function_printer import FunctionPrinter
from glow.lowering.llvm_text.op_printers import PRINTERS
from glow.lowering.llvm_text.text import type_name
from glow.lowering.target.target import Target

PRINTED_PROPERTIES = {"sym_name", "function_type", "linkage", "arg_attrs"}

DEFAULTS: dict[str, Attribute] = {
    "CConv": xllvm.CallingConventionAttr("ccc"),
    "visibility_": IntegerAttr(0, 64),
    "unnamed_addr": IntegerAttr(0, 64),
}
"""Properties that need no text as long as they say this."""


def verify_function(op: xllvm.FuncOp) -> None:
    """Raises DiagnosticException for a property that the text would not carry."""
    unknown = [
        name
        for name, value in op.properties.items()
        if name not in PRINTED_PROPERTIES and DEFAULTS.get(name) != value
    ]
    if unknown or op.attributes:
        name = [*unknown, *op.attributes][0]
        raise DiagnosticException(
            f"llvm emission: unknown attribute {name} on @{op.sym_name.data}"
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
            texts.append(
                FunctionPrinter(PRINTERS, declarations).function(op, attributes)
            )
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
