"""What must hold of native code: its error is bounded, quantized networks are exact.

Networks are compiled for several instruction sets and run on one to three threads, which
share the smallest kernels too, and have equal bits.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from checks import NOISE, Reference, Wrong, describe, deviation, scale_of
from network_steps import product_network, quantized_network
from random_graphs import Array
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

import glow
from glow.backends.cpu.program import main_function
from glow.compiler import compile, load, run_passes
from glow.dialects import glow as nodes
from glow.dialects.glow.integer_forms import MOVEMENT
from glow.dialects.node import NodeOp
from glow.dialects.numerics import NUMERICS
from glow.dialects.quantized import any_quantized
from glow.interpreter import run
from glow.lowering.target.target import Target, host_target
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.options import (
    ACTIVATIONS,
    BIASES,
    FIDELITIES,
    REQUANTIZE,
    QuantizationOptions,
)
from glow.passes.quantization.profiling.calibration import METHODS
from glow.passes.quantization.profiling.schema import PRECISIONS, SCHEMAS
from glow.passes.quantization.quantize import quantize_module
from glow.runtime.native_function import NativeFunction

TARGETS = [
    name
    for name in ("host", "host_without-avx512f", "avx2", "scalar")
    if Target.from_string(name).runs_on(host_target())
]
BUDGET = {"exact": 1e-5, "default": 1e-4, "fast": 1e-2}
"""The documented errors, relative to the largest output."""

CHOICES: dict[str, Sequence[Any]] = {
    "schema": SCHEMAS,
    "precision": (*PRECISIONS, "int8"),
    "per_channel": (True, True, False),
    "calibration": tuple(METHODS),
    "activations": ACTIVATIONS,
    "requantize": (*REQUANTIZE, "float"),
    "bias": (*BIASES, "int32"),
    "bias_correction": (True, False),
    "equalization": (True, False),
    "fidelity": FIDELITIES,
}

ROUNDED_ONCE = (
    nodes.ConstantOp, nodes.SplatOp, nodes.DynamicMatmulOp, nodes.DynamicQuantizeOp,
    nodes.AddOp, nodes.SubOp, nodes.MulOp, nodes.ReluOp, nodes.ClipOp, *MOVEMENT,
)  # fmt: skip
"""Nodes that everybody computes with the same bits on floats too."""
ROUNDED_ACTIVATIONS = (StringAttr("relu"), StringAttr("clip"))
"""What a product may absorb, likewise."""


def native_results(
    module: ModuleOp, inputs: Sequence[Array], target: str, **options: Any
) -> list[Array]:
    """The results on one thread, which those on two and three must equal."""
    with patch.object(main_function, "serial_bytes", return_value=0):
        function = compile(module, target=target, threads=1, **options).function
    assert isinstance(function, NativeFunction)
    results = function.run(inputs)
    shared = replace(function.program, is_small=False)
    for threads in (2, 3):
        again = NativeFunction(shared, threads).run(inputs)
        for one, other in zip(results, again, strict=True):
            np.testing.assert_array_equal(other, one, f"on {threads} threads")
    return results


def assert_within_budget(
    reference: Reference, found: list[Array], budget: float
) -> None:
    """Fail where a result is off by more than the network makes of the budget."""
    for after, before, noisy in zip(
        found, reference.results, reference.noisy, strict=True
    ):
        assert after.shape == before.shape, f"{after.shape} != {before.shape}"
        scale = scale_of(before)
        growth = max(deviation(noisy, before) / (NOISE[4] * scale), 1.0)
        error = deviation(after, before) / scale
        assert error <= budget * growth, f"off by {error} of the largest"


def check_products(seed: int) -> int:
    """A network with some numerics for some target; whether it could be compared."""
    reference = Reference(*product_network(seed))
    if not reference.is_well_behaved:
        return 0
    choose = np.random.default_rng([seed, 1])
    numerics, target = str(choose.choice(NUMERICS)), str(choose.choice(TARGETS))
    what = f"seed {seed}: products, numerics={numerics}, {target}"
    try:
        found = native_results(
            reference.module, reference.inputs, target, numerics=numerics
        )
        assert_within_budget(reference, found, BUDGET[numerics])
    except Exception as error:
        raise Wrong(f"{what}: {describe(error)}") from error
    return 1


def random_options(choose: np.random.Generator) -> QuantizationOptions:
    """Any way to quantize."""
    picked = {
        name: values[int(choose.integers(len(values)))]
        for name, values in CHOICES.items()
    }
    return QuantizationOptions(**picked)


def is_exact(module: ModuleOp) -> bool:
    """Whether all that is left in floats is rounded once, in one order."""
    return all(map(_is_exact, module.walk()))


def _is_exact(op: Operation) -> bool:
    if not isinstance(op, NodeOp) or isinstance(op, ROUNDED_ONCE):
        return True
    activation = op.properties.get("activation", StringAttr("relu"))
    types = [value.type for value in (*op.operands, *op.results)]
    return any_quantized(types) and activation in ROUNDED_ACTIVATIONS


def check_quantized(seed: int) -> int:
    """A network quantized somehow, for some target; whether it could be compared."""
    module, inputs = quantized_network(seed)
    choose = np.random.default_rng([seed, 2])
    options, target = random_options(choose), str(choose.choice(TARGETS))
    try:
        with redirect_stderr(io.StringIO()):
            more = [np.asarray(array * array.dtype.type(0.7)) for array in inputs]
            profile = glow.profile(module, [inputs, more], backend="interpreter")
            quantized = load(module)
            run_passes(quantized, graph_passes())
            quantize_module(quantized, profile, options)
            if not is_exact(quantized):
                return 0
            expected = run(quantized, inputs)
            found = native_results(
                module, inputs, target, quantize=profile, quantization=options
            )
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    except Exception as error:
        what = f"seed {seed}: quantized, {target}, {options}"
        raise Wrong(f"{what}: {describe(error)}") from error
    return 1
