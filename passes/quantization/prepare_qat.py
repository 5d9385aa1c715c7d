"""Quantization-aware training: rounds in floats what `quantize` would store as integers.

    %1 = glow.conv2d %x, %w, %b : tensor<1x8x4x4xf32>
  becomes
    %x.scale = glow.splat 0.05 : tensor<f32>
    %2 = glow.fake_quantize %x, %x.scale low 0 high 255 : tensor<1x3x4x4xf32>
    %w.scale = glow.constant dense<[...]> : tensor<8xf32>
    %3 = glow.fake_quantize %w, %w.scale low -127 high 127 axis 0 : tensor<8x3x3x3xf32>
    %1 = glow.conv2d %2, %3, %b : tensor<1x8x4x4xf32>

What is rounded, and by which scales, is the plan that `insert-casts` follows too. Scales stay
those of the profile, or are trained: then a variable holds the logarithm, so that a scale stays
positive and a step of the optimizer changes it by a share of itself. Zero points stay. Powers of
two stay powers of two: the logarithm is rounded (straight through).

Source: Jain et al., Trained Quantization Thresholds (2020), for logarithms of scales.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import MOVEMENT, PRODUCTS
from glow.dialects.glow.state import variables_of
from glow.dialects.locations import named_weight, weight_location
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.quant import Quantization
from glow.dialects.weight_table import Array, element_type_of
from glow.dialects.weights import numpy_to_dense
from glow.passes.graph.fuse_activation import PRODUCERS, separate_activation
from glow.passes.quantization.constants import bias_parameters
from glow.passes.quantization.insert_casts import builder_after
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.plan import (
    QuantizationPlan,
    plan_quantization,
    prepare_network,
    quantizes_per_row,
)
from glow.passes.quantization.profiling.instrument_profile import functions_of
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.quantize import InsertCastsPass
from glow.passes.quantization.selection import activations
from glow.passes.rewriting.node_builder import NodeBuilder, name_of, rewrite_nodes

EXPONENTS = (-126, 127)
"""Of the powers of two that are normal f32 numbers."""


def name_weights(function: FuncOp) -> None:
    """Let constants that have axes say that they are weights, which training changes.

    Passes have made constants of others, such as of a batch normalization's.
    """
    taken: set[str] = set()
    for op in function.walk():
        if not isinstance(op, glow.ConstantOp | glow.SplatOp):
            continue
        rank = len(shape_of(op.result))
        if not rank or not isinstance(element_of(op.result), AnyFloat):
            continue
        known = named_weight(op) or weight_name(op)
        derived = f"{name_of(op.result)}.{'bias' if rank == 1 else 'weight'}"
        name = new_name(known or derived, taken)
        taken.add(name)
        op.location = weight_location(name)


def weight_name(op: glow.ConstantOp | glow.SplatOp) -> str | None:
    """The name of a constant's entry in the weight table, or of its value."""
    entry = op.weight_name if isinstance(op, glow.ConstantOp) else None
    return entry or op.result.name_hint


def new_name(wanted: str, taken: Collection[str]) -> str:
    """The name, or that with a number that makes it new."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


class FakeQuantization:
    """Puts fake quantization into one function, where a plan says."""

    def __init__(
        self, function: FuncOp, plan: QuantizationPlan, powers: bool, train: bool
    ) -> None:
        self.function = function
        self.plan = plan
        self.powers = powers
        self.train = train
        self.variables: dict[int, str] = {}

    def insert(self) -> None:
        """Round what the plan's nodes read."""
        for op, constants in self.plan.constants.items():
            self.round_bias(op)
            for index, data in constants.items():
                value = op.operands[index]
                rounded = self.rounded(NodeBuilder(op), value, data, name_of(value))
                op.operands[index] = rounded
        moved = {value for value in self.plan.activations if self.is_moved(value)}
        for value, data in self.plan.activations.items():
            if value in moved:
                continue
            name = self.plan.ranges.name_of(value)
            builder = builder_after(value, self.function)
            if isinstance(value.owner, Operation):
                builder.location = value.owner.location
            readers = [use for use in value.uses if self.reads(use.operation, value)]
            rounded = self.rounded(builder, value, data, name)
            for use in readers:
                use.operation.operands[use.index] = rounded

    def round_bias(self, op: Operation) -> None:
        """Round a product's bias as it joins the sums: at the scale of both factors."""
        weights = self.plan.constants[op].get(1)
        if not isinstance(op, tuple(PRODUCTS)) or weights is None or len(op.inputs) < 3:
            return
        (lhs, rhs, bias), builder = op.inputs[:3], NodeBuilder(op)
        left, right = self.plan.activations[lhs], weights
        if self.train:
            names = self.plan.ranges.name_of(lhs), name_of(rhs)
            scale = builder.node(
                glow.MulOp,
                self.scale(builder, left, names[0]),
                self.scale(builder, right, names[1]),
            )
        else:
            together = bias_parameters(left, right)
            numbers = parameters(together, np.array(together.scales))
            scale = inline_constant(builder, numbers)
        low, high = bias_parameters(left, right).limits
        axis = {} if right.axis is None else {"axis": 0}
        op.operands[2] = builder.node(
            glow.FakeQuantizeOp, bias, scale, low=low, high=high, **axis
        )

    def reads(self, op: Operation, value: SSAValue) -> bool:
        """Whether a node computes on the integers of a value."""
        return op in self.plan.nodes and value in activations(op)

    def is_moved(self, value: SSAValue) -> bool:
        """Whether only rounded numbers of the same scale come together in a value."""
        owner, known = value.owner, self.plan.activations
        if not isinstance(owner, MOVEMENT) or isinstance(owner, glow.PadOp):
            return False
        sources = activations(owner)
        return owner in self.plan.nodes and all(
            known.get(source) is known[value] for source in sources
        )

    def rounded(
        self, builder: NodeBuilder, value: SSAValue, data: Quantization, name: str
    ) -> SSAValue:
        """The numbers that the integers stand for."""
        operands = [value, self.scale(builder, data, name)]
        if any(data.zero_points):
            points = parameters(data, np.array(data.zero_points))
            operands.append(inline_constant(builder, points))
        low, high = data.limits
        axis = {} if data.axis is None else {"axis": data.axis}
        return builder.node(glow.FakeQuantizeOp, *operands, low=low, high=high, **axis)

    def scale(self, builder: NodeBuilder, data: Quantization, name: str) -> SSAValue:
        """The scale, a constant or made of a variable; values that share one share both."""
        scales = parameters(data, np.array(data.scales))
        if not self.train:
            return inline_constant(builder, scales)
        variable = self.variables.get(id(data))
        if variable is None:
            taken = {*self.variables.values(), *variables_of(self.function)}
            variable = new_name(f"{name}.log2_scale", taken)
            self.variables[id(data)] = variable
        initial, element = np.log2(scales), element_type_of(scales.dtype)
        held = tensor_type(initial.shape, element)
        op = glow.VariableOp.of(variable, held, numpy_to_dense(initial))
        exponent = builder.insert(op).results[0]
        if self.powers:
            low, high = EXPONENTS
            one = builder.splat(1.0, element)
            exponent = builder.node(
                glow.FakeQuantizeOp, exponent, one, low=low, high=high
            )
        return builder.node(glow.PowOp, builder.splat(2.0, element), exponent)


def parameters(data: Quantization, numbers: Array) -> Array:
    """Scales or zero points as `glow.fake_quantize` takes them: a scalar, or one an index."""
    array = numbers.astype(np.float32)
    return array.reshape(()) if data.axis is None else array


def inline_constant(builder: NodeBuilder, array: Array) -> SSAValue:
    """A constant that is no weight, however long: training leaves it as it is."""
    element = element_type_of(array.dtype)
    if array.ndim == 0:
        return builder.splat(float(array), element)
    constant = glow.ConstantOp.build_node(
        [], [tensor_type(array.shape, element)], value=numpy_to_dense(array)
    )
    return builder.insert(constant).results[0]


def check_trainable(module: ModuleOp, options: QuantizationOptions) -> None:
    """Raise GlowError for choices that have nothing to train."""
    if quantizes_per_row(module, options):
        raise GlowError(
            "linear layers of a transformer quantize their rows at run time, by scales that "
            "cannot be trained",
            hint="activations=static",
        )
    if options.embeddings != "float":
        raise GlowError(
            f"embeddings={options.embeddings} cannot be trained",
            hint="embeddings=float, and quantize them afterwards",
        )
    if options.bias != "int32":
        raise GlowError(f"bias={options.bias} cannot be trained", hint="bias=int32")


def prepare_qat(
    module: ModuleOp,
    profile: Profile | None = None,
    options: QuantizationOptions | None = None,
    *,
    train_scales: bool = False,
) -> None:
    """Put fake quantization into a graph, in place, where `quantize_module` would quantize.

    Raises GlowError for choices that have nothing to train.
    """
    options = prepare_network(module, profile, options or QuantizationOptions())
    check_trainable(module, options)
    powers = options.schema == "power-of-two"
    for function in functions_of(module):
        plan = plan_quantization(function, profile, options)
        if plan is not None:
            name_weights(function)
            FakeQuantization(function, plan, powers, train_scales).insert()
    rewrite_nodes(module, dict.fromkeys(PRODUCERS, separate_activation))


@dataclass(frozen=True)
class PrepareQatPass(InsertCastsPass):
    """Round as `quantize` would, in floats; `train-scales` makes scales variables."""

    name = "prepare-qat"

    train_scales: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        prepare_qat(
            op, self.read_profile(), self.options(), train_scales=self.train_scales
        )
