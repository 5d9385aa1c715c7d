"""From functions in memory to LLVM IR text, by a table.

xDSL's own conversion drops function attributes, fastmath of calls and alignment without
a word, and costs three times as much; this printer raises on every op, attribute and
type that it does not know. Intrinsics are declared once per name. The CPU and its
features are the target machine's business, not the text's.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.llvm import LLVMFunctionType
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.llvm_ir.function import Function
from glow.lowering.llvm_text.function_printer import FunctionPrinter
from glow.lowering.llvm_text.op_printers import PRINTERS
from glow.lowering.llvm_text.text import type_name
from glow.lowering.target.target import Target


def emit_functions(functions: Iterable[Function], target: Target) -> str:
    """Returns the LLVM IR text of functions with the declarations that they need."""
    bits = target.vector_bytes * 8
    attributes = f'nounwind "prefer-vector-width"="{bits}"'
    declarations: dict[str, str] = {}
    texts: list[str] = []
    defined: set[str] = set()
    for function in functions:
        if function.blocks:
            defined.add(function.name)
            printer = FunctionPrinter(PRINTERS, declarations)
            texts.append(printer.function(function, attributes))
        else:
            declare_function(declarations, function.name, function.type)
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
    from glow.lowering.llvm_ir.dialect import function_of

    functions: list[Function] = []
    for op in ops:
        if not isinstance(op, xllvm.FuncOp):
            raise DiagnosticException(f"llvm emission: unknown op {op.name}")
        functions.append(function_of(op))
    return emit_functions(functions, target)
