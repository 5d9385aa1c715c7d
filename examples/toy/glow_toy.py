"""A device that multiplies matrices; all else falls back to other backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Dialect, Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass

from glow.backends.backend import (
    Backend,
    DialectFactory,
    PassFactory,
    ReferenceFunction,
)
from glow.backends.device import Device
from glow.backends.pipeline import LOWERED, Phase, Pipeline, graph_phase
from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types, element_of
from glow.dialects.weights import constant_value
from glow.interpreter.arrays import Array, exact
from glow.options import CompileOptions
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, rewrite_nodes
from glow.signature import main_function


@irdl_op_definition
class DenseOp(NodeOp):
    """x weights + bias: x [M, K], weights [K, N], bias [N] -> [M, N]."""

    name = "toy.dense"
    x = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [M, N], by the rule of the layer that it stands for."""
        return glow.FullyConnectedOp.infer(operands, attributes)


def run_dense(op: Operation, x: Array, weights: Array, bias: Array) -> Array:
    """What the node computes, exactly: the interpreter rounds the result."""
    return exact(x) @ exact(weights) + exact(bias)


Toy = Dialect("toy", [DenseOp], [])


def form_dense(op: Operation) -> None:
    """Replace a layer that the device takes by its node."""
    assert isinstance(op, glow.FullyConnectedOp)
    builder = NodeBuilder(op)
    builder.replace(builder.node(DenseOp, op.input, op.weights, op.bias))


class FormToyDensePass(ModulePass):
    """Make toy.dense of dense layers."""

    name = "form-toy-dense"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.FullyConnectedOp: form_dense})


class ToyFunction:
    """The nodes of a part one after the other, with the weights that the device has."""

    def __init__(self, module: ModuleOp) -> None:
        block = main_function(module).body.block
        self.inputs, self.outputs = block.args, block.last_op.operands
        self.nodes = [op for op in block.ops if isinstance(op, DenseOp)]
        values = {
            value: constant_value(value) for op in self.nodes for value in op.inputs
        }
        self.weights = {
            value: array for value, array in values.items() if array is not None
        }

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        values = {**self.weights, **dict(zip(self.inputs, inputs, strict=True))}
        for op in self.nodes:
            x, weights, bias = (values[value] for value in op.inputs)
            values[op.result] = np.matmul(x, weights) + bias
        return [values[value] for value in self.outputs]


class ToyBackend(Backend):
    """Dense layers of f32 without an activation."""

    name = "toy"

    def dialects(self) -> Mapping[str, DialectFactory]:
        """Its node."""
        return {"toy": lambda: Toy}

    def passes(self) -> Mapping[str, PassFactory]:
        """The pass that makes it."""
        return {FormToyDensePass.name: lambda: FormToyDensePass}

    def reference_functions(
        self, module: ModuleOp
    ) -> Mapping[type[Operation], ReferenceFunction]:
        """What it computes, for the interpreter."""
        return {DenseOp: run_dense}

    def is_legal(self, op: NodeOp) -> bool:
        """Its node alone."""
        return isinstance(op, DenseOp)

    def refuses(self, op: Operation) -> str | None:
        """All but dense layers: other backends get the rest."""
        if isinstance(op, DenseOp):
            return None
        if not isinstance(op, glow.FullyConnectedOp):
            return "the device multiplies matrices"
        if op.activation is not None or op.bias is None:
            return "the device adds a bias, and has no activation"
        is_f32 = all(element_of(value) == f32 for value in op.inputs)
        return None if is_f32 else "the device computes f32"

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The graph without fused activations, then its nodes."""
        lowered = Phase(LOWERED, "nodes of the device", lambda: [FormToyDensePass()])
        pipeline = Pipeline([graph_phase(options), lowered], compile_from=LOWERED)
        return pipeline.change(
            "graph", lambda passes: [p for p in passes if p.name != "fuse-activation"]
        )

    def compile(self, module: ModuleOp, options: CompileOptions) -> ToyFunction:
        """The function of a part."""
        return ToyFunction(module)

    def devices(self) -> Sequence[Device]:
        """One, which has room for most."""
        return [Device("toy:0", "toy", 1 << 30, "an imaginary device")]
