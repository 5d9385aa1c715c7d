"""Blocked forms of values, shared by the rules of layout assignment.

A value that exists in blocks is the result of a `cpu.unpack`; whoever can read blocks
takes that operand instead, and unpacks that nobody needs are erased in the end. So
borders sink as far as they can in one forward sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.conv_shape import WinogradChoice
from glow.backends.cpu.layout.packer import Packer
from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weight_table import DeferredArray
from glow.dialects.weights import (
    Array,
    constant_value,
    dtype_of,
    new_constant,
    weights_of,
)
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, name_of

VOLUME_AXES = 5
"""Those of a volume: images, channels, depth, height, width."""


def blocked_source(value: SSAValue) -> SSAValue | None:
    """The blocked tensor of which the value is the plain form, if there is one."""
    owner = value.owner
    return owner.operands[0] if isinstance(owner, cpu.UnpackOp) else None


def constant_key(value: SSAValue) -> object:
    """Equal for constants of the same content (the same weight)."""
    owner = value.owner
    if isinstance(owner, glow.ConstantOp) and owner.weight_name is not None:
        return owner.weight_name
    return value


class Layout:
    """One run of the pass on one module: packed constants and packed values so far."""

    def __init__(self, module: ModuleOp, packer: Packer, numerics: str) -> None:
        self.packer = packer
        self.numerics = numerics
        self.lanes = packer.lanes
        self.winograd: Mapping[Operation, WinogradChoice] = {}
        """The convolutions that become `cpu.winograd_conv2d` or `cpu.int8_winograd_conv2d`."""
        self._table = weights_of(module)
        self._constants: dict[object, SSAValue] = {}
        self._packed: dict[tuple[SSAValue, Block | None], SSAValue] = {}

    def constant(
        self,
        anchor: Operation,
        key: object,
        name: str,
        make: Callable[[], Array | DeferredArray],
    ) -> SSAValue:
        """A constant made once for each key; it stands first in the function."""
        entry = _entry_block(anchor)
        value = self._constants.get((entry, key))
        if value is None:
            op = new_constant(self._table, make(), name)
            op.location = anchor.location
            first = entry.first_op
            assert first is not None
            entry.insert_op_before(op, first)
            value = self._constants[(entry, key)] = op.result
        return value

    def zeros(
        self, anchor: Operation, shape: tuple[int, ...], scalar: Attribute = f32
    ) -> SSAValue:
        """Zeros in the place of an absent bias."""

        def make() -> Array:
            return np.zeros(shape, dtype_of(scalar))

        return self.constant(anchor, ("zeros", shape, scalar), "zeros", make)

    def blocked_bias(self, op: glow.Conv2dOp) -> SSAValue:
        """The bias of a convolution as [O / lanes, lanes]."""
        lanes, outputs = self.lanes, shape_of(op.result)[1]
        blocks = cpu.blocks(outputs, lanes)
        if op.bias is None:
            return self.zeros(op, (blocks, lanes))
        array = constant_value(op.bias)
        if array is not None:
            return self.constant(
                op,
                ("bias", constant_key(op.bias), lanes),
                f"{name_of(op.bias)}.packed",
                lambda: pack_channels(array.reshape(1, -1, 1, 1), lanes).reshape(
                    -1, lanes
                ),
            )
        builder = NodeBuilder(op)
        plane = builder.reshape(op.bias, (1, outputs, 1, 1))
        return builder.reshape(self.blocked(builder, plane), (blocks, lanes))

    def stored(self, anchor: Operation, value: SSAValue) -> SSAValue:
        """The value as kernels read weights: a splat becomes an array."""
        if not isinstance(value.owner, glow.SplatOp):
            return value
        array = constant_value(value)
        assert array is not None
        key = ("stored", value.owner.value, value.type)
        return self.constant(anchor, key, name_of(value), lambda: np.array(array))

    def blocked(self, builder: NodeBuilder, value: SSAValue) -> SSAValue:
        """The value in blocks; packs it when it does not exist in blocks."""
        source = blocked_source(value)
        if source is not None:
            return source
        key = (value, builder.anchor.parent)
        if key not in self._packed:
            self._packed[key] = self._pack(builder, value)
        return self._packed[key]

    def _pack(self, builder: NodeBuilder, value: SSAValue) -> SSAValue:
        is_moved = isinstance(value.owner, glow.ReshapeOp | glow.TransposeOp)
        if is_moved and self.packer.blocks_are_registers:
            # Loaded by networks with rows that become images.
            from glow.backends.cpu.layout.blocks_of_tokens import blocks_of

            blocks = blocks_of(builder, value, self.lanes)
            if blocks is not None:
                return blocks
        return builder.node(cpu.PackOp, value, lanes=self.lanes)

    def blocked_operand(
        self, builder: NodeBuilder, value: SSAValue, channels: int
    ) -> SSAValue:
        """An operand of an element-wise node on blocks of that many channels."""
        shape = shape_of(value)
        if all(size == 1 for size in shape):
            return value
        shape = (1,) * (4 - len(shape)) + shape
        if shape[1] != channels:
            return builder.reshape(value, (*shape, 1))
        array = constant_value(value)
        if array is None:
            return self.blocked(builder, builder.reshape(value, shape))
        # Padding lanes compute too: one divides without a trap.
        return self.constant(
            builder.anchor,
            ("blocked", constant_key(value), shape),
            f"{name_of(value)}.packed",
            lambda: pack_channels(array.reshape(shape), self.lanes, 1),
        )

    def replace(self, builder: NodeBuilder, blocked: SSAValue) -> None:
        """Replace the anchor's only result by the plain form of a blocked tensor."""
        (old,) = builder.anchor.results
        blocked.name_hint = old.name_hint
        channels = shape_of(old)[1]
        builder.replace(builder.node(cpu.UnpackOp, blocked, channels=channels))


def is_f32(*values: SSAValue | None) -> bool:
    """Whether all present values have f32 elements."""
    return all(value is None or element_type(value) == f32 for value in values)


def has_volume(op: NodeOp) -> bool:
    """Whether a node reads something of five axes, or what was reshaped from that."""
    return any(map(_was_volume, op.operands))


def _was_volume(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(value.type, TensorType):
        return False  # an absent or a stateful operand
    if len(shape_of(value)) == VOLUME_AXES:
        return True
    is_reshaped = isinstance(owner, glow.ReshapeOp)
    return is_reshaped and len(shape_of(owner.input)) == VOLUME_AXES


def remade(
    builder: NodeBuilder,
    op: NodeOp,
    operands: Sequence[SSAValue],
    attributes: Mapping[str, AttributeValue],
    shape: Sequence[int],
) -> NodeOp:
    """The node on other operands, whose result has a shape."""
    type_ = tensor_type(shape, element_type(op.results[0]))
    regions = [region.clone() for region in op.regions]
    value = builder.create(
        type(op), operands, attributes, types=[type_], regions=regions
    )
    assert isinstance(value.owner, NodeOp)
    return value.owner


def _entry_block(op: Operation) -> Block:
    """The outermost block of the function that holds an operation."""
    from xdsl.dialects.func import FuncOp

    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        op, parent = parent, parent.parent_op()
    assert op.parent is not None
    return op.parent


def pack_channels(values: Array, lanes: int, fill: float = 0.0) -> Array:
    """[A, C, H, W] as [A, C / lanes, H, W, lanes]; `fill` in the lanes beyond C."""
    outer, channels, height, width = values.shape
    blocks = -(-channels // lanes)
    padded = np.full((outer, blocks * lanes, height, width), fill, values.dtype)
    padded[:, :channels] = values
    split = padded.reshape(outer, blocks, lanes, height, width)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2))
