"""A graph's main function in another dialect, by a table of handlers.

A format names the nodes that it has a word for; the others are made of those by the patterns of
`lower-nodes` and `lower-quantized`, which are the same for all formats. What then has no
handler is told, all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp
from glow.dialects.numerics import NUMERICS
from glow.dialects.quantized import is_quantized
from glow.dialects.weight_table import Array
from glow.dialects.weights import clone_module, stored_value
from glow.exporters import ARGUMENTS, RESOURCE
from glow.exporters.failures import CannotExport, write_all
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import Control, Handler, W
from glow.lowering.lower_nodes.lower_nodes import lower_nodes
from glow.lowering.lower_nodes.products import activated
from glow.lowering.lower_quantized.block_weights import weights_as_floats
from glow.lowering.lower_quantized.lower_quantized import lower_quantized
from glow.passes.graph.partition.inline_parts import inline_parts
from glow.passes.rewriting.absorbed_activation import attributes_without_activation
from glow.passes.rewriting.node_builder import NodeBuilder, erase_dead_nodes
from glow.passes.rewriting.scalar_bodies import has_scalar_body
from glow.signature import main_function, signature_of

FAST = NUMERICS[-1]
"""The numerics that allow results to differ."""


@dataclass(frozen=True)
class Format(Generic[W]):
    """What a format can say: its name, its writer, and what writes each node."""

    name: str
    writer: Callable[[str, bool], W]
    handlers: Mapping[type[Operation], Handler[W]]
    controls: Mapping[type[Operation], Control[W]]
    elementwise: Handler[W]
    """What writes a node that has a scalar body, and no handler."""
    keeps: Callable[[NodeOp], bool] = lambda op: True
    """Whether the handler of a node takes it as it is."""
    quantized: Mapping[type[Operation], Handler[W]] = field(
        default_factory=dict[type[Operation], "Handler[W]"]
    )
    """What writes nodes on quantized elements; without any they are lowered before."""

    def is_legal(self, op: NodeOp) -> bool:
        """Whether a node is not made of others."""
        return type(op) in self.handlers and self.keeps(op)

    def check(self, op: Operation) -> None:
        """Raise CannotExport where nothing writes an operation."""
        if type(op) not in self.controls:
            self.handler(op)

    def handler(self, op: Operation) -> Handler[W]:
        """What writes a node; raises CannotExport where nothing does."""
        handlers = self.handlers
        if isinstance(op, NodeOp) and op.is_quantized:
            handlers = self.quantized
        if type(op) in handlers:
            return handlers[type(op)]
        if handlers is self.handlers and has_scalar_body(op):
            return self.elementwise
        raise CannotExport


@dataclass
class Program:
    """A program of a format, and its weights by name, which go where `form` says."""

    module: ModuleOp
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    form: str = RESOURCE


def export_program(
    module: ModuleOp,
    target: Format[W],
    weights: str = RESOURCE,
    numerics: str = NUMERICS[0],
) -> Program:
    """The program of a graph; raises GlowError naming all that the format cannot say."""
    function = main_function(prepared(module, target))
    check_plain(function)
    signature, writer = signature_of(function), target.writer(weights, numerics == FAST)
    block = function.body.block
    for argument in block.args:
        kind = writer.type_of(argument.type)
        writer.bind(argument, writer.entry.insert_arg(kind, argument.index))
    write_block(writer, target, block)
    assert block.last_op is not None
    results = writer.values(block.last_op.operands)
    writer.append(operation("func.return", results))
    entry = writer.finish()
    writer.weights.check_length()
    arrays = writer.weights.arrays
    inputs = [info.name for info in signature.inputs]
    if weights == ARGUMENTS:
        inputs += list(arrays)
    outputs = [info.name for info in signature.outputs]
    types = [argument.type for argument in entry.args], [one.type for one in results]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr("main"),
        "function_type": FunctionType.from_lists(*types),
        "arg_attrs": named(inputs, "ml_program.identifier"),
        "res_attrs": named(outputs, "ml_program.identifier", "jax.result_info"),
    }
    main = operation("func.func", properties=properties, regions=[Region(entry)])
    return Program(ModuleOp([*writer.weights.globals, main]), arrays, weights)


def named(names: Sequence[str], *attributes: str) -> ArrayAttr[DictionaryAttr]:
    """The names of inputs or outputs, in the attributes that IREE and JAX read."""
    return ArrayAttr(
        DictionaryAttr(dict.fromkeys(attributes, StringAttr(name))) for name in names
    )


def check_plain(function: func.FuncOp) -> None:
    """Raise GlowError where the function takes or returns quantized elements."""
    types = function.function_type
    for one in (*types.inputs, *types.outputs):
        if is_quantized(one):
            raise GlowError(f"@{function.sym_name.data} takes or returns {one}")


def prepared(module: ModuleOp, target: Format[W]) -> ModuleOp:
    """A copy of a graph, of nodes that the format has words for, as far as there are any."""
    copy = clone_module(module)
    inline_parts(copy)
    weights_as_floats(copy)
    if not target.quantized:
        lower_quantized(copy)
    for op in list(copy.walk()):
        if not isinstance(op, glow.Conv2dOp) or op.is_quantized:
            continue
        if op.activation is not None:
            _part_activation(op)
    lower_nodes(copy, target)
    erase_dead_nodes(copy)
    return copy


def _part_activation(op: glow.Conv2dOp) -> None:
    builder, attributes = NodeBuilder(op), attributes_without_activation(op)
    product = builder.create(glow.Conv2dOp, list(op.inputs), attributes)
    builder.replace(activated(builder, op, product))


def write_block(writer: W, target: Format[W], block: Block) -> None:
    """Append what the operations of a block become, its end left out."""

    def write(op: Operation) -> None:
        write_operation(writer, target, op)

    write_all([op for op in block.ops if op is not block.last_op], write, target.name)


def write_operation(writer: W, target: Format[W], op: Operation) -> None:
    """Append what an operation becomes."""
    if isinstance(op, glow.ConstantOp | glow.SplatOp):
        array = stored_value(op.result)
        assert array is not None
        writer.bind(op.result, writer.array(array, op.result.name_hint or "weight"))
    elif not writer.has(op.operands):
        target.check(op)  # What was refused before is not the reason to refuse this.
    elif type(op) in target.controls:
        target.controls[type(op)](
            writer, op, lambda block: write_block(writer, target, block)
        )
    elif isinstance(op, NodeOp):
        inputs = [writer.value(value) for value in op.inputs]
        made = target.handler(op)(writer, op, inputs)
        values = [made] if not isinstance(made, Sequence) else made
        for old, new in zip(op.results, values, strict=True):
            if writer.type_of(old.type) != new.type:
                raise CannotExport(f"{old.type} became {new.type}")
            writer.bind(old, new)
    else:
        raise CannotExport
