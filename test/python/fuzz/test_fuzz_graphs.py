"""A slice of `make fuzz`: random graphs under all passes; and tests of the fuzzer itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from checks import (
    Reference,
    Wrong,
    check_alone,
    check_pipeline,
    check_seed,
    evaluate,
    graph_of,
    try_passes,
)
from native_checks import check_products, check_quantized
from onnx_checks import (
    ShakenReference,
    check_float_model,
    check_node,
    check_quantized_model,
    imported,
)
from onnx_graphs import OnnxMaker, random_model
from qdq_steps import QDQ_STEPS
from quantized_steps import INTEGER_STEPS
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.frontends.onnx.importer import handlers_of
from glow.frontends.onnx.registry import CONTRIB_DOMAIN
from glow.interpreter import run
from glow.passes.graph.fold_constants import FoldConstantsPass
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass
from glow.runtime.native_function import NativeFunction

SEEDS = range(1000, 1016)

NATIVE_SEEDS = range(1000, 1012)

MODEL_SEEDS = range(1001, 1005)

QUANTIZED_OPERATORS = {
    "QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulInteger",
    "ConvInteger", "DynamicQuantizeLinear", "QLinearAdd", "QLinearMul", "QGemm",
    "QLinearGlobalAveragePool", "QLinearAveragePool", "QLinearConcat", "QLinearSigmoid",
    "QLinearLeakyRelu", "DynamicQuantizeMatMul", "MatMulIntegerToFloat",
}  # fmt: skip

ELSEWHERE = {"QLinearSoftmax", "QLinearReduceMean", "QLinearWhere"}
"""Compared with ONNX Runtime in test_microsoft_operators.py."""

UNREACHED = {
    "glow.fused": "made by passes only",
    "glow.fake_quantize": "made by prepare-qat only",
    "glow.arg_max_pool2d": "made by differentiate only",
    "glow.dynamic_slice": "stands in loops only, which the LSTM's lowering makes",
    "glow.dynamic_update": "stands in loops only, which the LSTM's lowering makes",
    "glow.lengths_max": "random lengths are errors; test_bags.py draws those that fit",
    "glow.lengths_sum": "random lengths are errors; test_bags.py draws those that fit",
    **{
        node.name: "stands in training steps, which are compared with torch's"
        for node in glow.NODES
        if node.__module__.startswith("glow.dialects.glow.training.")
    },
}


@pytest.mark.parametrize("part", range(4))
def test_passes_keep_results(part: int) -> None:
    assert all(check_seed(seed) for seed in SEEDS[part::4])


@pytest.mark.parametrize("check", [check_products, check_quantized])
def test_native_code_keeps_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: Callable[[int], int]
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    assert sum(map(check, NATIVE_SEEDS)) > len(NATIVE_SEEDS) / 4


@pytest.mark.parametrize("check", [check_quantized_model, check_float_model])
def test_models_compute_what_onnxruntime_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: Callable[[int], int]
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    assert sum(map(check, MODEL_SEEDS)) > 20 * len(MODEL_SEEDS)


def test_models_have_all_quantized_operators() -> None:
    found = {
        made.node.op_type
        for seed in range(150)
        for made in random_model(seed, (*INTEGER_STEPS, *QDQ_STEPS)).made
    }
    assert found >= QUANTIZED_OPERATORS
    named = {n for n in handlers_of(CONTRIB_DOMAIN) if n.startswith(("QL", "QG"))}
    assert named <= QUANTIZED_OPERATORS | ELSEWHERE


def test_a_wrong_step_is_caught() -> None:
    """Of integers each counts; of floats that are rounded, what is far off."""
    for seed in range(20):
        maker = random_model(seed, INTEGER_STEPS)
        module = imported(maker.finish()[0])
        if module is None:
            continue
        reference = ShakenReference(module, [v.array for v in maker.inputs])
        reference.compare(reference.results, reference.is_exact)
        step = 1 if reference.is_exact else 100
        wrong = [result + result.dtype.type(step) for result in reference.results]
        with pytest.raises(AssertionError):
            reference.compare(wrong, reference.is_exact)


def test_sums_that_cancel_out_are_measured_by_their_terms() -> None:
    """What another order of sums changes is allowed, and no more."""
    maker = OnnxMaker(0)
    x = maker.argument(np.array([[3e3, 1, -3e3]], np.float32))
    maker.node("MatMul", x, maker.constant(np.array([[1], [1e-3], [1]], np.float32)))
    (made,) = maker.made
    for error in (0.0, 1e-2):
        made.outputs[0].array = np.array([[1e-3 + error]], np.float32)
        assert check_node(made) == 2
    made.outputs[0].array = np.array([[1]], np.float32)
    with pytest.raises(AssertionError, match=r"off by 0\.99"):
        check_node(made)


def test_graphs_have_all_nodes() -> None:
    found = {
        op.name for seed in range(600) for op in graph_of(seed)[0].walk()
    } | UNREACHED.keys()
    assert {node.name for node in glow.NODES} - found == set()


def test_seeds_repeat_and_run() -> None:
    for seed in range(5):
        module, inputs = graph_of(seed)
        again, same = graph_of(seed)
        assert str(module) == str(again)
        for a, b in zip(inputs, same, strict=True):
            np.testing.assert_array_equal(a, b)
        results = evaluate(module, inputs)
        for a, b in zip(results, run(module, inputs), strict=True):
            np.testing.assert_array_equal(a, b)


def test_most_graphs_are_well_behaved() -> None:
    """Else rounding passes are compared on nothing."""
    references = [Reference(*graph_of(seed)) for seed in range(40)]
    assert sum(reference.is_well_behaved for reference in references) > 25
    assert all(reference.results for reference in references)


def _forget_activation(op: NodeOp, builder: NodeBuilder) -> SSAValue:
    return op.operands[0]


class ForgetfulPass(RewritePass):
    """A wrong pass under a right one's name."""

    name = "fold-constants"
    rewrites = {glow.ReluOp: (_forget_activation,)}


@pytest.mark.parametrize("check", [check_alone, check_pipeline])
def test_a_wrong_pass_is_caught(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[int, Reference], int]
) -> None:
    monkeypatch.setattr(FoldConstantsPass, "apply", ForgetfulPass.apply)
    monkeypatch.setattr(
        FoldConstantsPass, "rewrites", ForgetfulPass.rewrites, raising=False
    )
    caught = 0
    for seed in range(16):
        module, inputs = graph_of(seed)
        if any(isinstance(op, glow.ReluOp) for op in module.walk()):
            try:
                check(seed, Reference(module, inputs))
            except Wrong:
                caught += 1
    assert caught


@pytest.mark.parametrize("check", [check_products, check_quantized])
def test_wrong_native_code_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: Callable[[int], int]
) -> None:
    def other_results(
        function: NativeFunction, inputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        return [
            result * result.dtype.type(2) for result in run_native(function, inputs)
        ]

    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    run_native = NativeFunction.run
    monkeypatch.setattr(NativeFunction, "run", other_results)
    caught = 0
    for seed in NATIVE_SEEDS[:4]:
        try:
            check(seed)
        except Wrong as error:
            caught += f"seed {seed}" in str(error)
    assert caught


def test_a_failure_names_its_seed() -> None:
    reference = Reference(*graph_of(0))
    with pytest.raises(Wrong, match="seed 0"):
        try_passes(reference, ["verify-lowered{backend=toaster}"], "avx2", "seed 0")
