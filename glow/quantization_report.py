"""What quantization does to each layer of a network: signal-to-noise ratios against float.

Three figures for each product. `alone` and `output` quantize nothing but that layer and
look at its own result and at the network's: the second says which layer hurts, since a
scale that one large value has made coarse hardly shows in the layer's own ratio. `together`
is the layer's result in the network that is quantized as a whole.

What is measured is the integer program itself, interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.compiler import run_passes
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.weight_table import Array
from glow.dialects.weights import clone_module
from glow.interpreter import run
from glow.interpreter.integer_arithmetic import dequantize
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.plan import even_out_channels, fuse_bounds
from glow.passes.quantization.profiling.instrument_profile import value_names
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.passes.quantization.quantize import quantize_module
from glow.passes.quantization.selection import is_weighted_product, select_nodes
from glow.signature import main_function
from glow.universe import optimize

Batch = Mapping[str, Array]
Values = dict[str, Array]


@dataclass
class Ratio:
    """A signal-to-noise ratio over several arrays."""

    signal: float = 0.0
    noise: float = 0.0

    def add(self, exact: Array, found: Array) -> None:
        """Take another pair of arrays into account."""
        numbers = exact.astype(np.float64)
        self.signal += float(np.square(numbers).sum())
        self.noise += float(np.square(numbers - found.astype(np.float64)).sum())

    @property
    def decibels(self) -> float:
        """Infinite where there is no noise."""
        if self.noise == 0 or self.signal == 0:
            return float("inf") if self.noise == 0 else float("-inf")
        return float(10 * np.log10(self.signal / self.noise))


@dataclass
class Layer:
    """One quantized product, and what that costs."""

    name: str
    """Of its result."""
    kind: str
    input_name: str
    seen: ValueProfile | None
    """What the profile knows of its input."""
    stored: Quantization | None = None
    """How its input is quantized; None where each row is at run time, or it stays float."""
    alone: Ratio = field(default_factory=Ratio)
    output: Ratio = field(default_factory=Ratio)
    together: Ratio = field(default_factory=Ratio)


@dataclass
class QuantizationReport:
    """All layers, the one first whose quantization hurts the network's output most."""

    layers: list[Layer]
    output: Ratio
    """Of the network that is quantized as a whole."""


class Subject:
    """An optimized graph whose channels are evened out, all of its values named."""

    def __init__(
        self, model: ModuleOp, profile: Profile, options: QuantizationOptions
    ) -> None:
        self.module = clone_module(model)
        run_passes(self.module, optimize())
        fuse_bounds(self.module)
        function = main_function(self.module)
        names, self.profile = even_out_channels(function, profile, options)
        for value, name in names.items():
            value.name_hint = name if SSAValue.is_valid_name(name) else None
        self.names = value_names(function)
        self.options = replace(options, equalization=False)

    def layers(self) -> list[Layer]:
        """The products that are quantized, in program order."""
        keep = (*self.options.keep, *self.profile.keep)
        chosen = select_nodes(main_function(self.module).body.block, keep)
        return [self._layer(op) for op in chosen if is_weighted_product(op)]

    def _layer(self, op: Operation) -> Layer:
        name, source = self.names[op.results[0]], self.names[op.operands[0]]
        seen = self.profile.values.get(source)
        return Layer(name, op.name.removeprefix("glow."), source, seen)

    def quantized(self, keep: Iterable[str] = ()) -> ModuleOp:
        """The graph on integers, but for some layers."""
        copy = clone_module(self.module)
        options = replace(self.options, keep=(*self.options.keep, *keep))
        quantize_module(copy, self.profile, options)
        return copy


def observer(module: ModuleOp, names: Sequence[str]) -> Callable[[Batch], Values]:
    """Runs a module; gives named values as floats, and the outputs under their numbers."""
    copy = clone_module(module)
    function = main_function(copy)
    inputs = [str(value.name_hint) for value in function.body.block.args]
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    found = {
        result.name_hint: result
        for op in function.body.block.ops
        for result in op.results
        if result.name_hint in names
    }
    outputs = {f"output {index}": v for index, v in enumerate(last.operands)}
    values: dict[str, SSAValue] = {**outputs, **{str(n): v for n, v in found.items()}}
    function.body.block.insert_op_before(ReturnOp(*values.values()), last)
    last.detach()
    last.erase()
    types: list[Attribute] = [value.type for value in values.values()]
    function.function_type = FunctionType.from_lists(
        list(function.function_type.inputs), types
    )

    def observe(batch: Batch) -> Values:
        arrays = run(copy, [batch[name] for name in inputs])
        return {
            name: as_floats(array, value.type)
            for (name, value), array in zip(values.items(), arrays, strict=True)
        }

    return observe


def as_floats(array: Array, value_type: Attribute) -> Array:
    """The numbers that an array stands for."""
    data = quantization_of(value_type) if isa(value_type, TensorType) else None
    return array if data is None else dequantize(array, data)


def add_ratios(ratio: Ratio, exact: Values, found: Values) -> None:
    """Take the network's outputs into account."""
    for name, array in exact.items():
        if name.startswith("output ") and array.dtype.kind == "f":
            ratio.add(array, found[name])


def report_quantization(
    model: ModuleOp,
    profile: Profile,
    batches: Sequence[Batch],
    options: QuantizationOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> QuantizationReport:
    """Measure each layer on batches of inputs.

    Raises GlowError where the profile does not fit, and where nothing is quantized.
    """
    subject = Subject(model, profile, options or QuantizationOptions())
    layers = subject.layers()
    if not layers:
        raise GlowError("nothing in this network is quantized with these options")
    names = [layer.name for layer in layers]
    observe = observer(subject.module, names)
    exact = [observe(batch) for batch in batches]
    whole = subject.quantized()
    note_storage(whole, layers)
    total, observe_whole = Ratio(), observer(whole, names)
    for batch, expected in zip(batches, exact, strict=True):
        found = observe_whole(batch)
        add_ratios(total, expected, found)
        for layer in layers:
            if layer.name in found:
                layer.together.add(expected[layer.name], found[layer.name])
    for number, layer in enumerate(layers):
        measure_alone(subject, layer, names, zip(batches, exact, strict=True))
        if progress is not None:
            progress(number + 1, len(layers))
    layers.sort(key=lambda layer: layer.output.decibels)
    return QuantizationReport(layers, total)


def note_storage(module: ModuleOp, layers: Sequence[Layer]) -> None:
    """Fill in how the input of each layer is stored."""
    by_name = {layer.name: layer for layer in layers}
    for op in module.walk():
        for result in op.results:
            if isinstance(op, glow.DynamicMatmulOp) or not op.operands:
                continue
            layer = by_name.get(result.name_hint or "")
            if layer is not None:
                layer.stored = quantization_of(op.operands[0].type)


def measure_alone(
    subject: Subject,
    layer: Layer,
    names: Sequence[str],
    samples: Iterable[tuple[Batch, Values]],
) -> None:
    """Quantize one layer only."""
    others = [name for name in names if name != layer.name]
    observe = observer(subject.quantized(others), [layer.name])
    for batch, expected in samples:
        found = observe(batch)
        add_ratios(layer.output, expected, found)
        if layer.name in found:
            layer.alone.add(expected[layer.name], found[layer.name])
