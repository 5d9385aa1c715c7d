"""Prints one function as LLVM IR text with a table of printers of instructions.

Values are named at their first use or definition, since a phi may name a value of a
later block; block arguments become phi nodes, filled in by the branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.llvm_ir.function import (
    VOID,
    BasicBlock,
    Function,
    Instruction,
    Register,
)
from glow.lowering.llvm_text.text import type_name

Printer = Callable[["FunctionPrinter", Instruction], str | None]
"""Returns what stands behind `%name = `; None for a constant, which has no line."""

ARGUMENT_ATTRIBUTES = {"llvm.noalias": "noalias", "llvm.nonnull": "nonnull"}


class FunctionPrinter:
    """Prints one function, once; its values keep the names that they are given."""

    def __init__(
        self, printers: Mapping[type[Operation], Printer], declarations: dict[str, str]
    ):
        self.printers = printers
        self.declarations = declarations
        self.named = 0
        self.labels: dict[BasicBlock, str] = {}
        self.label = ""
        self.incoming: dict[Register, list[str]] = {}

    def name(self, value: Register) -> str:
        """Returns the text of an operand without its type, and gives it one."""
        if not value.name:
            self.set_name(value, f"%v{self.named}")
        return value.name

    def set_name(self, value: Register, name: str) -> None:
        """Makes a name, or a constant, the text of an operand."""
        if not value.name:
            self.named += 1
        value.name = name
        value.typed = f"{type_name(value.type)} {name}"

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Makes sure that the module declares a callee."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"

    def branch(self, target: BasicBlock, values: Sequence[Register]) -> str:
        """Returns a label operand; the values go into the target's phi nodes."""
        for argument, value in zip(target.args, values, strict=True):
            self.incoming[argument].append(f"[{value.name}, %{self.label}]")
        return f"label %{self.labels[target]}"

    def function(self, function: Function, attributes: str) -> str:
        """Returns the definition of a function."""
        head = self.head(function)
        blocks = function.blocks
        self.labels = {block: f"b{k}" for k, block in enumerate(blocks)}
        self.incoming = {arg: [] for block in blocks[1:] for arg in block.args}
        bodies = [self.lines_of(block) for block in blocks]
        text = "\n".join(map(self.block_text, blocks, bodies))
        return f"define {head} {attributes} {{\n{text}\n}}\n"

    def lines_of(self, block: BasicBlock) -> list[str]:
        """Returns the instructions of a block."""
        self.label, lines = self.labels[block], list[str]()
        printers, name = self.printers, self.name
        for op in block.instructions:
            printer = printers.get(op.kind)
            if printer is None:
                raise DiagnosticException(f"llvm emission: unknown op {op.kind.name}")
            for operand in op.operands:
                if not operand.name:
                    name(operand)
            try:
                text = printer(self, op)
            except DiagnosticException as error:
                raise DiagnosticException(f"{error} on {op.kind.name}") from error
            if text is not None:
                result = "" if op.type is VOID else f"{name(op)} = "
                lines.append(f"  {result}{text}")
        return lines

    def block_text(self, block: BasicBlock, lines: Sequence[str]) -> str:
        """Returns a block with its label and phi nodes."""
        phis = [
            f"  {self.name(arg)} = phi {type_name(arg.type)} "
            + ", ".join(self.incoming[arg])
            for arg in block.args
            if arg in self.incoming
        ]
        return "\n".join([f"{self.labels[block]}:", *phis, *lines])

    def head(self, function: Function) -> str:
        """Returns result type, name and arguments of a definition."""
        arguments = function.blocks[0].args
        attributes = argument_attributes(function)
        listed = [
            " ".join([type_name(arg.type), *extra, self.name(arg)])
            for arg, extra in zip(arguments, attributes, strict=True)
        ]
        result = type_name(function.type.output)
        return f"{linkage(function)}{result} @{function.name}({', '.join(listed)})"


def linkage(function: Function) -> str:
    """Returns the linkage keyword with a space, nothing for external."""
    name = function.linkage
    if name not in ("external", "internal"):
        raise DiagnosticException(f"llvm emission: unknown linkage {name}")
    return "" if name == "external" else "internal "


def argument_attributes(function: Function) -> list[list[str]]:
    """Returns the LLVM attributes of each argument; raises for unknown ones."""
    attributes: ArrayAttr[DictionaryAttr] | None = function.argument_attributes
    if attributes is None:
        return [[] for _ in function.type.inputs]
    for name in {name for data in attributes for name in data.data}:
        if name not in ARGUMENT_ATTRIBUTES:
            raise DiagnosticException(
                f"llvm emission: unknown argument attribute {name}"
            )
    return [[ARGUMENT_ATTRIBUTES[name] for name in data.data] for data in attributes]
