"""The scalar bodies of data-parallel nodes mean what the nodes mean."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block, Region

from glow.dialects import glow
from glow.dialects.node import DataParallel, element_of
from glow.frontends.mlir import parse_text
from glow.interpreter import evaluate_node
from glow.passes.rewriting.scalar_bodies import (
    emit_node,
    has_scalar_body,
)
from glow.passes.rewriting.scalar_builder import SCALAR_BODIES, ScalarBuilder
from glow.universe import new_context

CONTEXT = new_context()


def test_every_data_parallel_node_has_a_scalar_body() -> None:
    nodes = [node for node in glow.NODES if node.has_trait(DataParallel)]
    special = {glow.FusedOp, glow.ConvertOp, glow.BitcastOp}
    assert set(nodes) == set(SCALAR_BODIES) | special
    assert not has_scalar_body(
        parse_text(CONTEXT, "func.func @main() { func.return }", "test")
    )


UNARY_NAMES = [
    node.name
    for node in SCALAR_BODIES
    if len(node.get_irdl_definition().operands) == 2 and node is not glow.NotOp
]
BINARY_NAMES = [
    node.name
    for node in SCALAR_BODIES
    if len(node.get_irdl_definition().operands) == 3
    and node not in (glow.AndOp, glow.OrOp, glow.XorOp)
]
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0, np.nan, np.inf, -np.inf], np.float32
)


INTEGERS = np.array([0, 1, -1, 2, 5, 31, 32, 33, -33, -(2**31), 2**31 - 1], np.int32)


@pytest.mark.parametrize("name", [*UNARY_NAMES, *BINARY_NAMES])
def test_scalar_bodies_mean_what_nodes_mean(name: str) -> None:
    """A node and its scalar body agree, on NaN and infinities too."""
    operands = 2 if name in BINARY_NAMES else 1
    node_class = next(node for node in SCALAR_BODIES if node.name == name)
    of_bits = issubclass(node_class, glow.BitwiseOp | glow.BitwiseUnaryOp)
    grid = np.meshgrid(*[INTEGERS if of_bits else SPECIAL] * operands)
    values = [axis.ravel().copy() for axis in grid]
    element = f"{values[0].size}x{'i32' if of_bits else 'f32'}"
    arguments = ", ".join(f"%x{n}: tensor<{element}>" for n in range(operands))
    inputs = ", ".join(f"%x{n}" for n in range(operands))
    module = parse_text(
        CONTEXT, f"func.func @main({arguments}) {{ func.return }}", "test"
    )
    function = next(iter(module.ops))
    args = function.regions[0].block.args
    node = node_class.build_node(args)
    block = Block(arg_types=[element_of(arg) for arg in args])
    builder = ScalarBuilder(block)
    builder.yield_(*emit_node(builder, node, block.args))
    fused = glow.FusedOp.build_node(
        args, [result.type for result in node.results], regions=[Region(block)]
    )
    fused.verify()
    (expected,) = evaluate_node(node, values)
    (actual,) = evaluate_node(fused, values)
    if expected.dtype.kind in "bi":
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(
            actual, expected, rtol=2e-5, atol=1e-6, err_msg=inputs
        )
