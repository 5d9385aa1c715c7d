"""A node between casts becomes a node on quantized elements.

    %1 = quant.dcast %x : tensor<1x4x8x8x!x> to tensor<1x4x8x8xf32>
    %2 = quant.dcast %w : tensor<2x4x1x1x!w> to tensor<2x4x1x1xf32>
    %3 = glow.conv2d %1, %2, %b activation "relu" : tensor<1x2x8x8xf32>
    %4 = quant.qcast %3 : tensor<1x2x8x8xf32> to tensor<1x2x8x8x!y>
  becomes
    %4 = glow.conv2d %x, %w, %c activation "relu" : tensor<1x2x8x8x!y>

with the bias in `i32` at the scale of the sums. Without a cast behind it, a product gives
floats from its accumulators. Products by constants and their sums become `glow.rescale`,
functions of one number of 8 or 16 bits `glow.lookup_table`.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.glow.integer_forms import ARITHMETIC, PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization, QuantizeCastOp
from glow.dialects.quantized import any_quantized, quantized_type
from glow.dialects.weights import constant_value
from glow.passes.quantization.casts import (
    Tensor,
    common_target,
    dequantized,
    element,
    lowest_is_zero,
    replace_casts,
    tensor_of,
)
from glow.passes.quantization.constants import accumulator_bias
from glow.passes.quantization.integer.affine import form_affine
from glow.passes.quantization.integer.fold_casts import erase_dead_casts, fold_casts
from glow.passes.quantization.integer.lookup_tables import form_lookup_table
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, erase
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.volume_convolution import volumes_as_planes

BOUNDS = ("relu", "clip")
MAX_BITS = 16


def _fitting(op: NodeOp) -> tuple[Quantization, Quantization] | None:
    """The quantization of a product's operands, if it has an integer form."""
    sources = [dequantized(value) for value in op.inputs[:2]]
    found = [element(source) if source else None for source in sources]
    left, right = found
    if left is None or right is None or left.axis is not None:
        return None
    if max(left.bits, right.bits) > MAX_BITS:
        return None
    attributes = op.attributes_view()
    is_matmul = isinstance(op, glow.MatmulOp)
    transposed = is_matmul and attributes.has("transpose_rhs")
    rank = tensor_of(op.inputs[1]).get_num_dims()
    axis = 0 if isinstance(op, glow.Conv2dOp) else rank - 1
    if right.axis is not None and (right.axis != axis or transposed):
        return None
    return left, right


def form_product(op: Operation) -> None:
    """Convolutions and matrix products."""
    assert isinstance(op, NodeOp)
    fitting = _fitting(op)
    if fitting is None:
        return
    builder = NodeBuilder(op)
    operands = [_behind(value) for value in op.inputs[:2]]
    if len(op.inputs) > 2:
        bias = accumulator_bias(builder, op.inputs[2], *fitting)
        if bias is None:
            return
        operands.append(bias)
    attributes, target = attributes_of(op), _target(op)
    if target is None:
        result_type: Tensor = tensor_of(op.results[0])
    else:
        result_type = quantized_type(tensor_of(op.results[0]), target)
        if lowest_is_zero(target) and _activation(op) == "relu":
            del attributes["activation"]
    result = builder.create(type(op), operands, attributes, types=[result_type])
    _put(op, result, target)


def _behind(value: SSAValue) -> SSAValue:
    source = dequantized(value)
    assert source is not None
    return source


def _activation(op: NodeOp) -> str | None:
    attributes = op.attributes_view()
    return attributes.string("activation") if attributes.has("activation") else None


def _target(op: NodeOp) -> Quantization | None:
    """The quantization of a product's result, or None for floats."""
    target = common_target(op.results[0])
    if target is None or target.axis is not None:
        return None
    if "activation" in op.property_names() and _activation(op) not in (None, *BOUNDS):
        return None
    return target


def _put(op: NodeOp, result: SSAValue, target: Quantization | None) -> None:
    """Put an integer node's result in the place of a float node's, or of its casts."""
    old = op.results[0]
    result.name_hint = old.name_hint
    if target is None:
        old.replace_all_uses_with(result)
    else:
        replace_casts(old, result)
    erase(op)


def form_arithmetic(op: Operation) -> None:
    """Sums, pools and others between casts on all sides."""
    assert isinstance(op, NodeOp)
    sources = [dequantized(value) for value in op.inputs]
    found = [source for source in sources if source is not None]
    target = common_target(op.results[0])
    if len(found) != len(sources) or target is None or target.axis is not None:
        return
    if any(data is None or data.axis is not None for data in map(element, found)):
        return
    builder = NodeBuilder(op)
    result = builder.create(
        type(op),
        found,
        attributes_of(op),
        types=[quantized_type(tensor_of(op.results[0]), target)],
    )
    _put(op, result, target)


Rewrite = Callable[[Operation], None]

FORMS: dict[type[Operation], Rewrite] = {
    **dict.fromkeys(PRODUCTS, form_product),
    **dict.fromkeys(ARITHMETIC, form_arithmetic),
}


def form(op: Operation) -> None:
    """Form the integer node of one operation, if it has one."""
    if isinstance(op, QuantizeCastOp):
        if constant_value(op.input) is None and not form_affine(op):
            form_lookup_table(op)
    elif type(op) in FORMS and not any_quantized([v.type for v in op.operands]):
        FORMS[type(op)](op)


def _is_between_casts(op: glow.Conv3dOp) -> bool:
    return all(map(dequantized, op.inputs[:2]))


def form_integer_nodes(module: ModuleOp) -> None:
    """Form integer nodes in program order."""
    # Only convolutions over planes have an integer form.
    if volumes_as_planes(module, _is_between_casts):
        fold_casts(module)
    for op in all_operations(module):
        if op.parent is not None:
            form(op)
    erase_dead_casts(module)
    fold_casts(module)


class FormIntegerNodesPass(ModulePass):
    """Turn nodes between casts into nodes on quantized elements."""

    name = "form-integer-nodes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        form_integer_nodes(op)
