"""Products on 16-bit floats, summed up in f32; everything between them stays f32.

Products are what 16 bits make faster; element-wise nodes, normalizations and softmax gain
nothing by them and lose accuracy, residual streams above all. So operands of products are
rounded, and nothing else is:

    %1 = glow.matmul %x, %w : tensor<9x64xf32>
  becomes
    %0 = glow.convert %x : tensor<9x32xbf16>
    %1 = glow.matmul %0, %w.bf16 : tensor<9x64xf32>

Training rounds the factors of all its products, those of the backward graph too: weights stay
f32, and the step of the optimizer is added to those. Products that take no 16-bit floats
multiply f32 numbers that are rounded, which has the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, Types, shape_of, tensor_type
from glow.dialects.weights import constant_value, dtype_of, free_unused_weights
from glow.passes.quantization.casts import tensor_of
from glow.passes.quantization.selection import is_kept
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    erase_dead_nodes,
    name_of,
)

Half = BFloat16Type | Float16Type
Keep = Callable[[Operation], bool]
"""Whether a product stays f32."""

PRODUCTS = (glow.Conv2dOp, glow.FullyConnectedOp, glow.MatmulOp)
ROUNDED = (glow.Conv3dOp, glow.ConvTranspose2dOp, glow.ConvTranspose3dOp)
"""Other products, of which training rounds the factors."""
FACTORS = 2
"""The operands that are multiplied; a bias is added to the sums in f32."""


class HalfProducts:
    """Converts the products of a module; each value is rounded once."""

    def __init__(self, element: Half) -> None:
        self.element = element
        self._rounded: dict[tuple[SSAValue, Block | None], SSAValue] = {}

    def convert(self, op: NodeOp) -> None:
        """Let a product multiply 16-bit floats."""
        builder = NodeBuilder(op)
        factors = [self._round(builder, value) for value in op.inputs[:FACTORS]]
        types: Types = [tensor_of(op.results[0])]
        new = type(op).build_node(
            [*factors, *op.inputs[FACTORS:]],
            types,
            predicate=op.predicate,
            **attributes_of(op),  # pyright: ignore[reportArgumentType]
        )
        builder.insert(new)
        builder.replace(*new.results)

    def round_factors(self, op: NodeOp) -> None:
        """Let a product multiply f32 numbers that are rounded to 16 bits."""
        builder = NodeBuilder(op)
        for index, value in enumerate(op.inputs[:FACTORS]):
            wide: Types = [tensor_of(value)]
            rounded = self._round(builder, value)
            op.operands[index] = builder.create(
                glow.ConvertOp, [rounded], {}, types=wide
            )

    def _round(self, builder: NodeBuilder, value: SSAValue) -> SSAValue:
        """The value in 16 bits; the first that needs it rounds it for all."""
        key = (value, builder.anchor.parent)
        rounded = self._rounded.get(key)
        if rounded is None:
            rounded = self._rounded[key] = self._new(builder, value)
        return rounded

    def _new(self, builder: NodeBuilder, value: SSAValue) -> SSAValue:
        array = constant_value(value)
        if array is not None:
            narrow = array.astype(dtype_of(self.element))
            return builder.constant(narrow, f"{name_of(value)}.{self.element}")
        wanted = tensor_type(shape_of(value), self.element)
        return builder.create(glow.ConvertOp, [value], {}, types=[wanted])


def is_f32_product(op: Operation) -> bool:
    """Whether a node multiplies f32 tensors."""
    if not isinstance(op, PRODUCTS):
        return False
    return multiplies_f32(op)


def multiplies_f32(op: NodeOp) -> bool:
    """Whether the factors of a product are tensors of f32."""
    return all(element_type(value) == f32 for value in op.inputs[:FACTORS])


def is_training(module: ModuleOp) -> bool:
    """Whether a program saves variables."""
    return any(isinstance(op, glow.SaveOp) for op in module.walk())


def convert_products(module: ModuleOp, element: Half, keep: Keep) -> None:
    """Let the products of a module multiply 16-bit floats, except those to keep."""
    others = [op for op in module.walk() if isinstance(op, ROUNDED)]
    products = [op for op in module.walk() if is_f32_product(op) and not keep(op)]
    rounding = HalfProducts(element)
    for op in products:
        assert isinstance(op, NodeOp)
        rounding.convert(op)
    for op in others if is_training(module) else ():
        if multiplies_f32(op) and not keep(op):
            rounding.round_factors(op)
    erase_dead_nodes(module)
    free_unused_weights(module)


def kept_by_name(names: Collection[str]) -> Keep:
    """Keeps the products that the user names."""
    return lambda op: is_kept(op, names)
