"""What an editor shows of a value or an operation: its type, its rule, where it came from.

%r1 : tensor<1x64x111x111xf32>
result 0 of `glow.conv2d`, node `conv1` of the network
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from glow.dialects.locations import leaves, node_name
from glow.dialects.node import NodeOp
from glow.tools.lsp.document import Document, symbol_of

LONGEST_TYPE = 400
"""Characters of a type; a target in it has hundreds."""


def hover_at(document: Document, offset: int, file: str) -> str | None:
    """Markdown about what a cursor touches; `file` is the document's."""
    if (value := document.value_at(offset)) is not None:
        return "\n\n".join(about_value(document, value, file))
    if (operation := document.symbol_at(offset)) is not None:
        return "\n\n".join(about_operation(operation, file))
    operation = document.operation_at(offset)
    if operation is None or not document.name_place(operation).holds(offset):
        return None
    return "\n\n".join(about_operation(operation, file))


def about_value(document: Document, value: SSAValue, file: str) -> Iterator[str]:
    """The type of a value, and what computes it."""
    place = document.index.definitions.get(value)
    name = document.text[place.start : place.end] if place is not None else "value"
    yield code(f"{name} : {spelled(value.type)}")
    if isinstance(value, OpResult):
        summary = documentation(type(value.op)).partition("\n")[0]
        yield f"result {value.index} of `{value.op.name}`" + (
            f": {summary}" if summary else ""
        )
        yield from origin(value.op, file)
    elif isinstance(value, BlockArgument):
        yield f"argument {value.index} of {block_name(value.block)}"


def block_name(block: Block) -> str:
    """What a block belongs to, as a sentence names it."""
    operation = block.parent_op()
    if operation is None:
        return "a block"
    symbol = symbol_of(operation)
    return f"`{operation.name} @{symbol}`" if symbol else f"`{operation.name}`"


def about_operation(operation: Operation, file: str) -> Iterator[str]:
    """The types of an operation, its documentation, and its origin."""
    symbol = symbol_of(operation)
    name = f"{operation.name} @{symbol}" if symbol else operation.name
    yield code(f"{name} : {signature(operation)}")
    if text := documentation(type(operation)):
        yield text
    if isinstance(operation, NodeOp):
        yield from rule(type(operation))
    yield from origin(operation, file)


def signature(operation: Operation) -> str:
    """The types of operands and results."""
    function = operation.get_attr_or_prop("function_type")
    if function is not None:
        return spelled(function)
    results = listed(value.type for value in operation.results)
    if len(operation.results) == 1:
        results = results[1:-1]
    return f"{listed(value.type for value in operation.operands)} -> {results}"


def listed(types: Iterable[Attribute]) -> str:
    """Types in parentheses."""
    return f"({', '.join(map(spelled, types))})"


def spelled(attribute: Attribute) -> str:
    """A type as text, cut where it is very long."""
    text = str(attribute)
    return text if len(text) <= LONGEST_TYPE else f"{text[:LONGEST_TYPE]}..."


def rule(node: type[NodeOp]) -> Iterator[str]:
    """The shape rule of a node, and the operator of ONNX that it is."""
    if node.infer.__func__ is not NodeOp.infer.__func__:
        yield f"Shape rule: {' '.join((node.infer.__doc__ or '').split())}"
    if node.ONNX is not None:
        names: Sequence[str] = (
            [node.ONNX] if isinstance(node.ONNX, str) else list(node.ONNX)
        )
        yield f"ONNX: {', '.join(f'`{name}`' for name in names)}"


def documentation(operation: type[Operation]) -> str:
    """What its author says of an operation; nothing where `@dataclass` has written it."""
    text = inspect.cleandoc(operation.__doc__ or "")
    return "" if re.match(r"\w+\(", text) else text


def origin(operation: Operation, file: str) -> Iterator[str]:
    """The network's node and the places in other files that an operation came from."""
    node = node_name(operation)
    if node is not None:
        yield f"node `{node}` of the network"
    for leaf in leaves(operation.location):
        if isinstance(leaf, FileLineColLoc) and leaf.filename.data != file:
            yield f"from `{leaf.filename.data}:{leaf.line.data}:{leaf.column.data}`"


def code(text: str) -> str:
    """A block of MLIR in Markdown."""
    return f"```mlir\n{text}\n```"
