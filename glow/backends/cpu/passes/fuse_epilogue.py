"""Moves element-wise nodes into the epilogue of the convolution or product before them.

From each such node grows a group of element-wise nodes that read it; the largest part
whose values are used outside only through its last node becomes scalar code in the
epilogue region. The other operands become epilogue operands: residuals, one number a
channel or row, or one number; constants of one element go into the region. Rounding to 16
bits can come last, and operands may be extended from 16 bits. The node moves to the place of
the last absorbed one, so that all epilogue operands are defined before it. Later nodes come first,
since a sum of two convolutions belongs to the later one. What goes through all elements of a
variable stays outside: a loop of its own updates it in place, and an epilogue would not.

    %0 = cpu.conv2d %x, %w, %b ... : tensor<1x4x56x56x16xf32>
    %1 = glow.add %0, %residual : tensor<1x4x56x56x16xf32>
    %2 = glow.relu %1 : tensor<1x4x56x56x16xf32>
  becomes
    %2 = cpu.conv2d %x, %w, %b, %residual ... {
    ^bb0(%sum: f32, %r: f32):
      %s = arith.addf %sum, %r : f32
      %zero = arith.constant 0.0 : f32
      %m = arith.maximumf %s, %zero : f32
      glow.yield %m
    } : tensor<1x4x56x56x16xf32>
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Commutative

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect import EpilogueOp
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import DataParallel, NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    erase,
)
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.scalar_bodies import emit_node, has_scalar_body, inline_body
from glow.passes.rewriting.scalar_builder import ScalarBuilder
from glow.passes.rewriting.trace import fused

HALF_STORES = (cpu.Conv2dOp, cpu.MatmulOp, cpu.WinogradConv2dOp)
"""Nodes whose kernels sum up in f32, and read and store 16-bit floats."""

MAX_GROUP = 24
"""Longer chains gain nothing: their work is arithmetic, not memory traffic."""

MAX_SOURCE_STEPS = 4
"""Dequantization is a conversion, a difference and a product."""

MAX_RESIDUALS = 4
"""More would take the registers of the tile; a channel's or row's number is a broadcast."""


def scalar_constant(value: SSAValue) -> float | int | None:
    """The number of a constant of one element."""
    if any(size != 1 for size in shape_of(value)):
        return None
    array = constant_value(value)
    return None if array is None else array.reshape(()).item()


def stored_value(root: EpilogueOp, value: SSAValue) -> SSAValue:
    """What a kernel reads for an f32 operand: the 16-bit floats that it is made from, or
    of int8 products, what it is computed from.
    """
    owner = value.owner
    if isinstance(root, cpu.ConvertingOp):
        return narrow_source(value)
    if not isinstance(owner, glow.ConvertOp) or not isinstance(root, HALF_STORES):
        return value
    extends = is_half(element_type(owner.operand)) and element_type(value) == f32
    return owner.operand if extends else value


def narrow_source(value: SSAValue) -> SSAValue:
    """The narrower tensor from which element-wise nodes with constants compute a value;
    the value itself if there is none.
    """
    source = value
    for _ in range(MAX_SOURCE_STEPS):
        source = element_source(source)
        if (
            dtype_of(element_type(source)).itemsize
            < dtype_of(element_type(value)).itemsize
        ):
            return source
    return value


def element_source(value: SSAValue) -> SSAValue:
    """The one operand of an element-wise node that is no constant; else the value."""
    owner = value.owner
    if not isinstance(owner, NodeOp) or not has_scalar_body(owner):
        return value
    varying = [x for x in owner.inputs if scalar_constant(x) is None]
    is_one = len(varying) == 1 and shape_of(varying[0]) == shape_of(value)
    return varying[0] if is_one and owner.predicate is None else value


def is_rounding(root: EpilogueOp, op: Operation) -> bool:
    """Whether a node rounds f32 to 16 bits, which the root can do when it stores."""
    if not isinstance(op, glow.ConvertOp) or not isinstance(root, HALF_STORES):
        return False
    return element_type(op.operand) == f32 and is_half(element_type(op.result))


def can_absorb(root: EpilogueOp, op: Operation) -> bool:
    """Whether an operation is scalar code on the root's elements and fitting epilogue operands."""
    if not isinstance(op, NodeOp) or not has_scalar_body(op):
        return False
    if op.parent is not root.parent or op.predicate is not None:
        return False
    shape = shape_of(root.result)
    if [shape_of(result) for result in op.results] != [shape]:
        return False
    if isinstance(root, cpu.ConvertingOp):
        return all(
            root.kind_of_operand(shape_of(value), shape) is not None
            for value in op.inputs
        )
    element = element_type(root.result)
    same = element_type(op.results[0]) == element or is_rounding(root, op)
    return same and all(
        element_type(value) == element
        and root.kind_of_operand(shape_of(value), shape) is not None
        for value in op.inputs
    )


def goes_through_variable(op: NodeOp) -> bool:
    """Whether a node reads elements of a variable, or what was computed of them one by one."""
    shape, values, seen = shape_of(op.results[0]), list(op.inputs), set[SSAValue]()
    while values and len(seen) < MAX_GROUP:
        value = values.pop()
        owner = value.owner
        if value in seen or shape_of(value) != shape:
            continue
        if isinstance(owner, glow.VariableOp):
            return True
        seen.add(value)
        if isinstance(owner, NodeOp) and owner.has_trait(DataParallel):
            values.extend(owner.inputs)
    return False


NOT_ABSORBED = "it reads something that is neither equal elements, a row nor a channel"
NOT_CLOSED = "values inside are needed elsewhere, or too many others would be read"


class Group:
    """A root and the element-wise nodes that grow from it, in program order."""

    def __init__(
        self, root: EpilogueOp, order: dict[Operation, int], *, has_variables: bool
    ) -> None:
        self.root = root
        self.order = order
        self.has_variables = has_variables
        self.ops: list[Operation] = [root]
        self._stored: dict[SSAValue, SSAValue | None] = {}
        self._grow()

    def _grow(self) -> None:
        closed = 1
        while len(self.ops) <= MAX_GROUP:
            user = self._next_user()
            if user is None:
                break
            if not self._can_absorb(user):
                if isinstance(user, NodeOp) and has_scalar_body(user):
                    fused(user, self.root, NOT_ABSORBED)
                break
            self.ops.append(user)
            if self._is_closed() and self._residuals() <= MAX_RESIDUALS:
                closed = len(self.ops)
        for op in self.ops[closed:]:
            fused(op, self.root, NOT_CLOSED)
        del self.ops[closed:]

    def _can_absorb(self, op: Operation) -> bool:
        if not can_absorb(self.root, op):
            return False
        assert isinstance(op, NodeOp)
        return not (self.has_variables and goes_through_variable(op))

    def _next_user(self) -> Operation | None:
        """The first reader of the group's values that is not in the group."""
        users = {
            use.operation
            for op in self.ops
            for use in op.results[0].uses
            if use.operation not in self.ops
        }
        known = [user for user in users if user in self.order]
        if len(known) < len(users):
            return None
        return min(known, key=self.order.__getitem__, default=None)

    def _is_closed(self) -> bool:
        """Whether only the last node's value is used outside, and other results of the root
        behind that node.
        """
        last = self.order[self.ops[-1]]
        others = [use for result in self.root.results[1:] for use in result.uses]
        return all(self.order.get(use.operation, -1) > last for use in others) and all(
            use.operation in self.ops
            for op in self.ops[:-1]
            for use in op.results[0].uses
        )

    def _residuals(self) -> int:
        """How many epilogue operands have an element for each of the result."""
        shape = shape_of(self.root.result)
        return sum(shape_of(operand) == shape for operand in self.epilogue_operands())

    def epilogue_operands(self) -> list[SSAValue]:
        """What the absorbed nodes read from outside, without scalar constants."""
        inside = {op.results[0] for op in self.ops}
        found = dict.fromkeys(self.root.epilogue_operands)
        for op in self.ops[1:]:
            assert isinstance(op, NodeOp)
            for value in op.inputs:
                stored = None if value in inside else self._stored_value(value)
                if stored is not None:
                    found[stored] = None
        return list(found)

    def _stored_value(self, value: SSAValue) -> SSAValue | None:
        """What a kernel reads for an operand, found once; None for a scalar constant."""
        if value not in self._stored:
            is_scalar = scalar_constant(value) is not None
            self._stored[value] = None if is_scalar else stored_value(self.root, value)
        return self._stored[value]

    def _inputs(self, op: NodeOp) -> list[SSAValue]:
        """The operands of a node; commutative ones in an order that makes equal
        epilogues, and with them kernels, of equal work: values of the group first.
        """
        inputs = list(op.inputs)
        if op.has_trait(Commutative):
            inside = {member.results[0] for member in self.ops}
            inputs.sort(key=lambda value: value not in inside)
        return inputs

    def region(self, epilogue_operands: list[SSAValue]) -> Region:
        """The epilogue of the root with the absorbed nodes as scalar code."""
        values = [self.root.result, *epilogue_operands]
        sums = self.root.accumulator(element_type(self.root.result))
        block = Block(
            arg_types=[sums, *(element_type(value) for value in epilogue_operands)]
        )
        builder = ScalarBuilder(block)
        elements: dict[SSAValue, SSAValue] = dict(zip(values, block.args, strict=True))
        if self.root.epilogue is not None:
            count = 1 + len(self.root.epilogue_operands)
            (elements[self.root.result],) = inline_body(
                builder, self.root.epilogue.block, block.args[:count]
            )
        for op in self.ops[1:]:
            assert isinstance(op, NodeOp)
            operands = [
                self._element(builder, value, elements) for value in self._inputs(op)
            ]
            (elements[op.results[0]],) = emit_node(builder, op, operands)
        builder.yield_(elements[self.ops[-1].results[0]])
        return Region(block)

    def _element(
        self,
        builder: ScalarBuilder,
        value: SSAValue,
        elements: dict[SSAValue, SSAValue],
    ) -> SSAValue:
        """The scalar of an operand: known, a constant, or computed from a narrow one."""
        known = elements.get(value)
        if known is None:
            known = elements[value] = self._computed(builder, value, elements)
        return known

    def _computed(
        self,
        builder: ScalarBuilder,
        value: SSAValue,
        elements: dict[SSAValue, SSAValue],
    ) -> SSAValue:
        number, owner = scalar_constant(value), value.owner
        if number is not None:
            return builder.constant(number, element_type(value))
        assert isinstance(owner, NodeOp)
        operands = [self._element(builder, x, elements) for x in owner.inputs]
        return emit_node(builder, owner, operands)[0]


def fuse_epilogue(
    root: EpilogueOp, order: dict[Operation, int], *, has_variables: bool
) -> None:
    """Absorb the nodes that grow from a root."""
    group = Group(root, order, has_variables=has_variables)
    if len(group.ops) == 1:
        return
    last = group.ops[-1]
    for op in group.ops[1:]:
        fused(op, root)
    epilogue_operands = group.epilogue_operands()
    builder = NodeBuilder(last)
    before = root.inputs[: len(root.inputs) - len(root.epilogue_operands)]
    operands = (*before, *epilogue_operands)
    regions = [group.region(epilogue_operands)]
    result = builder.create(
        type(root),
        operands,
        attributes_of(root),
        types=[tensor_of(value) for value in (last.results[0], *root.results[1:])],
        regions=regions,
    )
    new = result.owner
    assert isinstance(new, Operation)
    new.location = root.location
    for old, value in zip(root.results[1:], new.results[1:], strict=True):
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    order[new] = order[last]
    builder.replace(result)
    for op in reversed(group.ops[:-1]):
        erase(op)


class FuseEpiloguePass(ModulePass):
    """Fuse element-wise nodes into convolutions and products."""

    name = "fuse-epilogue"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        order = {child: number for number, child in enumerate(all_operations(op))}
        has_variables = any(isinstance(child, glow.VariableOp) for child in order)
        for child in reversed(list(order)):
            if isinstance(child, EpilogueOp):
                fuse_epilogue(child, order, has_variables=has_variables)
