"""What must hold of a random ONNX model: it computes what ONNX Runtime computes.

Node by node, each on the operands that it has in ONNX Runtime, so that nothing adds up;
then as a whole, through every pass, in any order, at every level and natively. Programs
of integers alone keep every bit. Where floats are rounded to integers a sum in another
order may give the next step: the bound is what a model makes of such steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from checks import (
    ALONE,
    Noise,
    Reference,
    Wrong,
    check_pipeline,
    describe,
    deviation,
    evaluate,
    rounding_noise,
    scale_of,
    try_passes,
)
from float_steps import FLOAT_STEPS
from native_checks import BUDGET, assert_within_budget, is_exact, native_results
from native_checks import TARGETS as NATIVE_TARGETS
from onnx import ModelProto
from onnx_graphs import Made, OnnxMaker, model_of, random_model
from qdq_steps import QDQ_STEPS
from quantized_steps import INTEGER_STEPS
from random_graphs import Array
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.compiler import load, lower_to
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.numerics import NUMERICS
from glow.dialects.quant import DequantizeCastOp, QuantizeCastOp, quantization_of
from glow.dialects.weights import clone_module
from glow.interpreter import run
from glow.lowering.target.target import Target

STEP_APART = {"QLinearAdd": 1, "QLinearMul": 1, "QLinearAveragePool": 1}
"""Operators that ONNX Runtime computes in another order, so that a tie may differ."""
ROUNDED = (
    QuantizeCastOp,
    glow.AddOp,
    glow.MulOp,
    glow.AvgPool2dOp,
    glow.DynamicQuantizeOp,
)
"""Nodes whose integers may be a step apart in another order of sums."""
WITH_BIAS = (glow.Conv2dOp, glow.FullyConnectedOp, glow.GemmOp)
ROUNDING = 2e-5
"""The error of one node on floats, relative to its largest result or sum of magnitudes."""
SUMS = {"MatMul", "Gemm", "Conv", "ConvTranspose"}
"""Operators that sum up products: where terms cancel out, rounding is relative to the terms."""

INTEGER_PASSES = (
    "form-dynamic-products", "fold-storage-casts", "convert-quantized-gemm",
    "fold-computed-weights", "fold-casts", "form-integer-nodes", "simplify-bounds",
    "merge-lookup-tables",
)  # fmt: skip
GRAPH_ALONE = ALONE[:-2]
LOWERINGS = ("lower-quantized", "lower-quantized{backend=cpu}")

SHAKEN = 0.5
"""A bound is measured with so many of the rounded integers a step away, in some runs."""
RUNS = 4
MARGIN = 4
"""How much more than what such steps make of a model a result may be off."""


REFUSALS = ("not supported", "needs the value of", "larger than the padded input")
"""Lines that refuse what ONNX Runtime takes."""


def imported(model: ModelProto) -> ModuleOp | None:
    """The graph of a model, None if an operator is not supported so."""
    try:
        return load(model)
    except GlowError as error:
        if any(words in str(error) for words in REFUSALS):
            return None
        raise


def optimized(module: ModuleOp) -> ModuleOp:
    """A graph as `glow.compile` makes it: optimized, and in integers if it comes so."""
    module = clone_module(module)
    lower_to(module, "graph")
    return module


def check_node(made: Made) -> int:
    """A node alone, before and after optimization; how many results were compared."""
    outputs = [value.name for value in made.outputs]
    module = imported(model_of([made.node], made.inputs, outputs))
    if module is None:
        return 0
    inputs = [value.array for value in made.inputs if not value.is_constant]
    steps, terms = STEP_APART.get(made.node.op_type, 0), largest_terms(made)
    for program in (module, optimized(module)):
        for result, value in zip(run(program, inputs), made.outputs, strict=True):
            compare_node(result, value.array, steps, terms)
    return 2


def largest_terms(made: Made) -> float:
    """The largest result of a sum of products on the magnitudes of its operands; else 0."""
    operator, (first, *_) = made.node.op_type, made.inputs
    if operator not in SUMS or first.dtype.kind != "f":
        return 0.0
    values = [replace(value, array=np.abs(value.array)) for value in made.inputs]
    module = load(model_of([made.node], values, [made.outputs[0].name]))
    (result,) = run(module, [v.array for v in values if not v.is_constant])
    return scale_of(result)


def compare_node(
    result: Array, expected: Array, steps: int, terms: float = 0.0
) -> None:
    """Fail where integers differ by more than so many steps, or floats by more than rounding."""
    assert result.shape == expected.shape, f"{result.shape} != {expected.shape}"
    assert result.dtype == expected.dtype, f"{result.dtype} != {expected.dtype}"
    rounding = ROUNDING * max(scale_of(expected), terms)
    allowed = steps if expected.dtype.kind in "biu" else rounding
    found = deviation(result, expected)
    assert found <= allowed, f"off by {found}, allowed are {allowed}"


def check_nodes(seed: int, maker: OnnxMaker) -> int:
    """Every node alone; how many results were compared."""
    compared = 0
    for made in maker.made:
        try:
            compared += check_node(made)
        except Exception as error:
            kinds = ", ".join(
                f"{value.dtype}{list(value.shape)}{'=' * value.is_constant}"
                for value in made.inputs
            )
            what = f"seed {seed}: {made.node.op_type}({kinds})"
            raise Wrong(f"{what}: {describe(error)}") from error
    return compared


@dataclass
class ShakenReference(Reference):
    """The results of a graph of integers and floats, and how far passes may change them.

    Not at all where all floats are rounded once, in one order. Else a sum may fall on the
    other side of a tie: the bound is measured on runs with such steps.
    """

    is_exact: bool = field(init=False)
    allowed: list[float] = field(init=False)

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.results = evaluate(self.module, self.inputs)
            self.is_exact = is_exact(self.module)
            shaken = [
                evaluate(self.module, self.inputs, steps_apart(seed))
                for seed in range(RUNS)
            ]
        self.allowed = [
            MARGIN * max(deviation(other, result) for other in others)
            + smallest_step(result)
            for result, *others in zip(self.results, *shaken, strict=True)
        ]

    @property
    def is_well_behaved(self) -> bool:
        """Whether results are finite."""
        return all(np.all(np.isfinite(a.astype(np.float64))) for a in self.results)

    def check(self, module: ModuleOp, preserves: str, target: str = "avx512") -> None:
        """Fail unless a module made of the graph has its results."""
        own = cpu_functions(packings_of(TargetPacker(Target.from_string(target))))
        self.compare(run(module, self.inputs, own=own), self.is_exact)

    def compare(self, results: Sequence[Array], exactly: bool) -> None:
        """Fail where results are further off than the graph makes of rounding."""
        assert len(results) == len(self.results), "another number of results"
        for after, before, allowed in zip(
            results, self.results, self.allowed, strict=True
        ):
            assert after.shape == before.shape, f"{after.shape} != {before.shape}"
            assert after.dtype == before.dtype, f"{after.dtype} != {before.dtype}"
            if exactly:
                np.testing.assert_array_equal(after, before)
            found = deviation(after, before)
            assert found <= allowed, f"off by {found}, allowed are {allowed}"


def smallest_step(result: Array) -> float:
    """One step of integers, some roundings of floats."""
    return 1.0 if result.dtype.kind in "biu" else ROUNDING * scale_of(result)


def bias_rounding(op: Operation) -> float:
    """By how much a result moves when the float bias of dequantized operands is rounded.

    It becomes an integer at the scale of the sums, as ONNX Runtime's integer layers have it.
    """
    if not isinstance(op, WITH_BIAS) or len(op.inputs) < 3:
        return 0.0
    owners = [value.owner for value in op.inputs[:2]]
    stored = [o.input.type for o in owners if isinstance(o, DequantizeCastOp)]
    scales = [max(data.scales) for t in stored if (data := quantization_of(t))]
    return prod(scales) / 2 if len(scales) == len(owners) else 0.0


def steps_apart(seed: int) -> Noise:
    """Noise on floats, and on some integers that are rounded from floats."""
    random, roundings = np.random.default_rng(seed), rounding_noise(seed)

    def noise(op: Operation, array: Array) -> Array:
        if step := bias_rounding(op):
            array = array + random.uniform(-step, step, array.shape).astype(array.dtype)
        if not isinstance(op, ROUNDED) or array.dtype.kind not in "iu":
            return roundings(op, array)
        info = np.iinfo(array.dtype)
        steps = random.integers(0, 2, array.shape) * 2 - 1
        moved = array.astype(np.int64) + steps * (random.random(array.shape) < SHAKEN)
        return np.clip(moved, info.min, info.max).astype(array.dtype)

    return noise


def check_passes(
    seed: int, reference: Reference, specs: Sequence[str], last: Sequence[str]
) -> int:
    """Each pass alone, then some in a random order; how many were compared."""
    what, compared = f"seed {seed}", 0
    for spec in (*specs, *last):
        compared += try_passes(reference, [spec], "avx512", what)
    random = np.random.default_rng(seed)
    some = [str(random.choice(specs)) for _ in range(10)]
    some.append(str(random.choice([*specs, *last])))
    return compared + try_passes(reference, some, "avx512", what)


def check_native(seed: int, reference: Reference) -> int:
    """Native code for some target against the results, on one to three threads."""
    choose = np.random.default_rng(seed)
    target, numerics = str(choose.choice(NATIVE_TARGETS)), str(choose.choice(NUMERICS))
    module = clone_module(reference.module)
    try:
        found = native_results(module, reference.inputs, target, numerics=numerics)
        if isinstance(reference, ShakenReference):
            reference.compare(found, reference.is_exact)
        else:
            assert_within_budget(reference, found, BUDGET[numerics])
    except Exception as error:
        what = f"seed {seed}: native, {target}, numerics={numerics}"
        raise Wrong(f"{what}: {describe(error)}") from error
    return 1


def check_quantized_model(seed: int) -> int:
    """A random quantized ONNX model; how many comparisons were made."""
    maker = random_model(seed, (*INTEGER_STEPS, *QDQ_STEPS))
    compared = check_nodes(seed, maker)
    model, expected = maker.finish()
    module = imported(model)
    if module is None:
        return compared
    inputs = [value.array for value in maker.inputs]
    reference = ShakenReference(module, inputs)
    apart = any(made.node.op_type in STEP_APART for made in maker.made)
    try:
        exactly = reference.is_exact and not apart
        reference.compare([value.array for value in expected], exactly)
    except AssertionError as error:
        raise Wrong(f"seed {seed}: the import: {describe(error)}") from error
    specs = [*GRAPH_ALONE, *INTEGER_PASSES]
    compared += check_passes(seed, reference, specs, LOWERINGS)
    compared += check_pipeline(seed, reference)
    compared += check_native(seed, reference)
    later = ShakenReference(optimized(module), inputs)
    reference.compare(later.results, reference.is_exact)
    return compared + 1 + check_passes(seed, later, GRAPH_ALONE, LOWERINGS)


def check_float_model(seed: int) -> int:
    """A random ONNX model of floats; how many comparisons were made."""
    maker = random_model(seed, FLOAT_STEPS)
    compared = check_nodes(seed, maker)
    model, expected = maker.finish()
    module = imported(model)
    if module is None:
        return compared
    reference = Reference(module, [value.array for value in maker.inputs])
    if not reference.is_well_behaved:
        return compared
    compared += check_passes(seed, reference, GRAPH_ALONE, ALONE[-2:])
    compared += check_pipeline(seed, reference)
    reference.results = [value.array for value in expected]
    return compared + check_native(seed, reference)
