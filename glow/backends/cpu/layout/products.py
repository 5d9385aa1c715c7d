"""Products with constant matrices: `cpu.matmul` with packed weights and a bias. Those of
computed matrices, such as weights in training, become `cpu.batch_matmul`.

Where the numerics allow it, weights that are mostly read are stored as bf16. Where Strassen's
algorithm pays and the numerics allow it, `cpu.strassen_matmul` on the
`cpu.strassen_combinations` of the input, which products of one input share after `cse`; two
levels of it where they pay and the numerics are `fast`. Not for weights some
rows or columns of which are much smaller than others.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.layout.layout import Layout, constant_key, is_f32
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weights import constant_value
from glow.lowering.lower_nodes.products import activated
from glow.lowering.lower_nodes.products import fully_connected as lower_fully_connected
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, name_of


def _packed_product(
    layout: Layout,
    anchor: NodeOp,
    operands: tuple[SSAValue, SSAValue],
    bias: SSAValue | None,
) -> SSAValue | None:
    """`cpu.matmul` or Strassen's, or None when the right side is not a constant f32 matrix."""
    lhs, weights = operands
    if isinstance(weights.owner, glow.BlockDequantizeOp):
        return _block_quantized_product(layout, anchor, lhs, weights.owner, bias)
    array = constant_value(weights)
    half = is_half(element_type(weights))
    if array is None or array.ndim != 2 or not (half or is_f32(lhs, weights, bias)):
        return None
    rows = prod(shape_of(lhs)[:-1])
    depth, columns = array.shape
    levels = 0 if half else layout.packer.strassen_levels(rows, columns, depth)
    if levels:
        from glow.backends.cpu.layout.weight_norms import are_even

        levels = levels if are_even(array) else 0
    pack = layout.packer.strassen if levels else layout.packer.matmul
    if not half and layout.packer.halves_matmul(rows, columns, depth):
        pack = layout.packer.halved_matmul
    key = (pack.__name__, constant_key(weights), rows)
    name = f"{name_of(weights)}.packed"
    strassen = layout.packer.strassen_config(array, rows) if levels else None
    packed = layout.constant(
        anchor,
        key,
        name,
        lambda: (
            layout.packer.strassen(array, rows, strassen)
            if levels
            else pack(array, rows)
        ),
    )
    if bias is None:
        bias = layout.zeros(anchor, array.shape[1:])
    bias = layout.stored(anchor, bias)
    builder = NodeBuilder(anchor)
    outer = shape_of(lhs)[:-1]
    if not levels:
        types = [tensor_type((*outer, columns), f32)]
        widens = pack == layout.packer.halved_matmul
        tile = layout.packer.matmul_config(array, rows, widens=widens)
        config = config_attributes(tile, layout.lanes)
        return builder.create(cpu.MatmulOp, [lhs, packed, bias], config, types=types)
    node = cpu.StrassenCombinationsOp.build_node([lhs], levels=levels)
    sums, scales = builder.insert(node).results
    inputs = [lhs, scales, sums, packed, bias]
    config = config_attributes(strassen, layout.lanes)
    return builder.create(cpu.StrassenMatmulOp, inputs, {"outer": outer, **config})


def _block_quantized_product(
    layout: Layout,
    anchor: NodeOp,
    lhs: SSAValue,
    weights: glow.BlockDequantizeOp,
    bias: SSAValue | None,
) -> SSAValue | None:
    """`cpu.block_quantized_matmul`, of rounded rows where that may be and is faster; None where
    there is no kernel.
    """
    from glow.backends.cpu.quantized.block_weights import weights_of_product

    held, outer = weights_of_product(weights), shape_of(lhs)[:-1]
    if held is None or not is_f32(lhs, bias):
        return None
    rounds = weights.row_bits.value.data > 0 and layout.packer.rounds_block_rows
    config, words = layout.packer.block_quantized(held, prod(outer), rounds=rounds)
    key = (held.format, config, rounds, *map(constant_key, weights.inputs))
    name = f"{name_of(weights.codes)}.packed"
    packed = layout.constant(anchor, key, name, lambda: words)
    if bias is None:
        bias = layout.zeros(anchor, shape_of(weights.result)[1:])
    inputs = [packed, layout.stored(anchor, bias)]
    attributes = {
        **held.format.attributes,
        **config_attributes(config, layout.lanes),
    }
    builder = NodeBuilder(anchor)
    if not rounds:
        node = cpu.BlockQuantizedMatmulOp
        return builder.create(node, [lhs, *inputs], attributes)
    rows = cpu.BlockQuantizeOp.build_node([lhs], block_size=held.format.size)
    stored, scales, sums = builder.insert(rows).results
    node = cpu.Int8BlockQuantizedMatmulOp
    return builder.create(node, [scales, sums, stored, *inputs], attributes)


def fully_connected(layout: Layout, op: Operation) -> None:
    """Replace a fully connected layer; without packed weights by a plain product."""
    assert isinstance(op, glow.FullyConnectedOp)
    result = _packed_product(layout, op, (op.input, op.weights), op.bias)
    if result is None:
        lower_fully_connected(op)
        return
    builder = NodeBuilder(op)
    builder.replace(activated(builder, op, result))


def _following_bias(layout: Layout, value: SSAValue) -> tuple[SSAValue, NodeOp] | None:
    """The bias vector that the only user of a product adds, and that user."""
    user = value.get_user_of_unique_use()
    if not isinstance(user, glow.AddOp) or user.results[0].type != value.type:
        return None
    addend = user.operands[1 if user.operands[0] is value else 0]
    array, columns = constant_value(addend), shape_of(value)[-1]
    if array is None or array.size != columns or array.shape[-1:] != (columns,):
        return None
    bias = layout.constant(
        user,
        ("bias", constant_key(addend)),
        name_of(addend),
        lambda: array.reshape(columns),
    )
    return bias, user


def _as_batch_matmul(op: glow.MatmulOp) -> None:
    """Replace a product of f32 tensors of equal batches, or with one matrix on the right."""
    lhs, rhs = shape_of(op.lhs), shape_of(op.rhs)
    turned = op.transpose_lhs is not None
    one = len(rhs) == 2 <= len(lhs) and (len(lhs) == 2 or not turned)
    equal = len(lhs) == len(rhs) and lhs[:-2] == rhs[:-2]
    if not (one or equal) or op.predicate is not None:
        return
    if not is_f32(op.lhs, op.rhs, op.result) or not all(map(prod, (lhs, rhs))):
        return
    builder = NodeBuilder(op)
    result = builder.node(
        cpu.BatchMatmulOp,
        op.lhs,
        op.rhs,
        lhs_axes=_axes(len(lhs), turned),
        rhs_axes=_axes(len(rhs), op.transpose_rhs is not None),
        result_axes=_axes(len(lhs), False),
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)


def _axes(rank: int, turned: bool) -> tuple[int, ...]:
    """The axes of a batch of matrices, or of their transposes."""
    axes = tuple(range(rank))
    return (*axes[:-2], axes[-1], axes[-2]) if turned else axes


def _of_tokens(layout: Layout, op: glow.MatmulOp) -> glow.MatmulOp:
    """A product that reads an image's channels as columns: of rows of channels, if in blocks."""
    if op.transpose_lhs is None or op.transpose_rhs is not None:
        return op
    is_layer = constant_value(op.rhs) is not None and op.predicate is None
    if not is_layer or not layout.packer.blocks_are_registers:
        return op
    # Loaded by networks with images that become rows.
    from glow.backends.cpu.layout.tokens import tokens_of

    builder = NodeBuilder(op)
    tokens = tokens_of(builder, op.lhs)
    if tokens is None or shape_of(tokens)[:-1] != shape_of(op.result)[:-1]:
        return op
    product = builder.insert(glow.MatmulOp.build_node([tokens, op.rhs]))
    assert isinstance(product, glow.MatmulOp)
    builder.replace(product.result)
    return product


def matmul(layout: Layout, op: Operation) -> None:
    """Replace a product with a constant matrix and the bias that follows it, with constant
    matrices that are picked for its rows, or of computed matrices.
    """
    assert isinstance(op, glow.MatmulOp)
    if any(isinstance(operand.owner, glow.GatherOp) for operand in (op.lhs, op.rhs)):
        # Few networks pick matrices.
        from glow.backends.cpu.layout.indexed_products import indexed_matmul

        if indexed_matmul(layout, op):
            return
    op = _of_tokens(layout, op)
    if op.transpose_lhs is not None or op.transpose_rhs is not None:
        _as_batch_matmul(op)
        return
    following = _following_bias(layout, op.result)
    bias, replaced = (None, op) if following is None else following
    result = _packed_product(layout, op, (op.lhs, op.rhs), bias)
    if result is None:
        _as_batch_matmul(op)
        return
    NodeBuilder(replaced).replace(result)
    if replaced is not op:
        op.detach()
        op.erase()
