"""Prints one function of the llvm dialect as LLVM IR text with a table of op printers.

Values are named at their first use or definition, since a phi may name a value of a
later block; block arguments become phi nodes, filled in by the branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.append import operations_of
from glow.lowering.llvm_text.text import type_name

Printer = Callable[["FunctionPrinter", Operation], None]

ARGUMENT_ATTRIBUTES = {"llvm.noalias": "noalias", "llvm.nonnull": "nonnull"}


class FunctionPrinter:
    """Prints one function; names are given at the first use or definition."""

    def __init__(
        self, printers: Mapping[type[Operation], Printer], declarations: dict[str, str]
    ):
        self.printers = printers
        self.declarations = declarations
        self.type_texts: dict[int, str] = {}
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
        return f"{self.type_text(value.type)} {self.name(value)}"

    def type_text(self, type_: Attribute) -> str:
        """Returns the text of a type; found by identity, as hashing a type is dear."""
        found = self.type_texts.get(id(type_))
        if found is None:
            found = self.type_texts[id(type_)] = type_name(type_)
        return found

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def result(self, op: Operation, text: str) -> None:
        """Prints an op with one result."""
        (result,) = op.results
        self.lines.append(f"  {self.name(result)} = {text}")

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
            for body_op in operations_of(block):
                self.print_op(body_op)
        text = "\n".join(self.block_text(block, lines) for block, lines in bodies)
        return f"define {head} {attributes} {{\n{text}\n}}\n"

    def print_op(self, op: Operation) -> None:
        printer = self.printers.get(type(op))
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
