"""Plans of divided networks: their parts together compute what the whole computes."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import glow
from glow.compiled_model import CompiledModel
from glow.compiler import compile_model, load
from glow.dialects.errors import GlowError
from glow.dialects.numerics import FREE_BYTES, SCARCE_FREE_BYTES
from glow.dialects.weights import references, weights_of
from glow.frontends.mlir import parse_text
from glow.host.devices.memory import model_memory
from glow.host.partition_plan import (
    PartitionPlan,
    part_options,
    plan_model,
    split_module,
)
from glow.options import CompileOptions
from glow.universe import new_context

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
EXACT = CompileOptions(numerics="exact", threads=1)

STATEFUL = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {glow.output_names = ["y", "z"]} {
  %v = glow.variable @v initial dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = glow.tanh %x : tensor<4xf32>
  %w = glow.add %v, %a : tensor<4xf32>
  glow.save %w, @v
  %u = glow.variable @u : tensor<4xf32>
  %b = glow.mul %w, %w : tensor<4xf32>
  %t = glow.add %u, %b : tensor<4xf32>
  glow.save %t, @u
  %c = glow.exp %b : tensor<4xf32>
  func.return %c, %t : tensor<4xf32>, tensor<4xf32>
}
"""


@cache
def whole() -> CompiledModel:
    """The network in one piece, which several tests compare with."""
    return compile_model(DIGITS, EXACT)


def inputs_of(plan: PartitionPlan, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        info.name: random.standard_normal(info.shape).astype(info.dtype)
        for info in plan.signature.inputs
    }


def models_of(plan: PartitionPlan, options: CompileOptions = EXACT):
    return [
        compile_model(part.module, part_options(options, part)) for part in plan.parts
    ]


def run_parts(plan: PartitionPlan, models, inputs) -> dict[str, np.ndarray]:
    """The outputs, where parts run in the order of the plan."""
    values = dict(inputs)
    for part, model in zip(plan.parts, models, strict=True):
        assert tuple(info.name for info in model.inputs) == part.takes
        assert tuple(info.name for info in model.outputs) == part.gives
        values |= model.run({name: values[name] for name in part.takes})
    return {name: values[name] for name in plan.outputs}


def check_equal(plan: PartitionPlan, options: CompileOptions, whole) -> None:
    inputs = inputs_of(plan)
    actual, expected = run_parts(plan, models_of(plan, options), inputs), whole(inputs)
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array)


@pytest.mark.parametrize(
    ("devices", "choice", "count"),
    [
        ("cpu*2", "balance", 2),
        ("cpu*3", "pipeline", 3),
        ("cpu*3:60KiB", "memory", 2),
        ("cpu*2", "strategy=user map=layer.3.residual.sum=cpu:1", 2),
    ],
)
def test_parts_give_the_bits_of_the_whole(
    devices: str, choice: str, count: int
) -> None:
    plan = plan_model(DIGITS, devices, choice, EXACT)
    assert len(plan.parts) == count
    assert (plan.inputs, plan.outputs) == (("image",), ("logits",))
    check_equal(plan, EXACT, whole().run)


@pytest.mark.filterwarnings("ignore:no profile")
@pytest.mark.parametrize("choice", [{"quantize": True}, {"precision": "fp16"}])
def test_what_crosses_may_be_integers_and_halves(choice: dict[str, object]) -> None:
    options = CompileOptions(threads=1, **choice)
    plan = plan_model(DIGITS, "cpu*2", "balance", options)
    crossing = plan.parts[1].module
    (taken,) = (
        info for info in models_of(plan, options)[1].inputs if info.name != "image"
    )
    assert taken.dtype == (np.uint8 if "quantize" in choice else np.float16)
    assert crossing is not plan.parts[0].module
    check_equal(plan, options, compile_model(DIGITS, options).run)


def test_parts_keep_to_the_memory_of_their_devices() -> None:
    """Where weights may not grow, numerics are exact; with more room they are as asked."""
    limit = 80 * 1024
    options = CompileOptions(threads=1)
    plan = plan_model(DIGITS, "cpu*3:80KiB", "memory", options)
    for part, model in zip(plan.parts, models_of(plan, options), strict=True):
        assert part.constant_bytes < part.needed_bytes < limit
        assert 0 <= part.spare_bytes < limit - part.needed_bytes + 1
        assert part_options(options, part).numerics == "exact"
        assert model_memory(model, 1) <= limit
    plan = plan_model(DIGITS, "cpu:60MiB,cpu", "balance", options)
    assert [part.spare_bytes is None for part in plan.parts] == [False, True]
    chosen = [part_options(options, part) for part in plan.parts]
    assert [part.numerics for part in chosen] == ["default", "default"]
    assert [part.free_weight_bytes for part in chosen] == [
        SCARCE_FREE_BYTES,
        FREE_BYTES,
    ]


def test_devices_compile_by_their_backends() -> None:
    plan = plan_model(
        DIGITS, "cpu,interpreter", "unsupported=cpu=glow.fully_connected", EXACT
    )
    assert [part.backend for part in plan.parts] == ["cpu", "interpreter"]
    models = models_of(plan)
    assert [model.backend for model in models] == ["cpu", "interpreter"]
    inputs = inputs_of(plan)
    expected = whole().run(inputs)
    actual = run_parts(plan, models, inputs)["logits"]
    np.testing.assert_allclose(actual, expected["logits"], rtol=1e-5, atol=1e-5)


def test_variables_stay_in_their_part() -> None:
    module = parse_text(new_context(), STATEFUL.encode(), "state")
    plan = plan_model(module, "cpu*2", "strategy=user map=b=cpu:1", EXACT)
    models = models_of(plan)
    assert [[*model.variables] for model in models] == [["v"], ["u"]]
    whole = compile_model(module, EXACT)
    for call in range(3):
        inputs = inputs_of(plan, call)
        actual, expected = run_parts(plan, models, inputs), whole.run(inputs)
        for name in ("y", "z"):
            np.testing.assert_array_equal(actual[name], expected[name])


def test_text_goes_through_pipes_and_weights_are_stored_once(tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    graph = subprocess.run(
        [tools / "glow", "compile", DIGITS, "--compile-to=graph"],
        check=True,
        capture_output=True,
    )
    path = tmp_path / "divided.mlir"
    subprocess.run(
        [tools / "glow-opt", "-o", path, "--partition=devices=cpu*2 strategy=balance"],
        input=graph.stdout,
        check=True,
    )
    plan = split_module(path)
    check_equal(plan, EXACT, whole().run)
    check_equal(plan, EXACT, compile_model(path, EXACT).run)
    check_equal(plan, EXACT, compile_model(path, CompileOptions(numerics="exact")).run)
    assert [op.sym_name.data for op in load(path).ops] == ["main"]
    assert glow.profile(path, [inputs_of(plan)]).batches == 1
    held = [{name for _, name in references(part.module)} for part in plan.parts]
    assert [set(weights_of(part.module)) for part in plan.parts] == held
    assert all(held)
    stored = path.with_name("divided.mlir.safetensors").stat().st_size
    assert stored < 1.1 * sum(
        array.nbytes
        for part in plan.parts
        for array in weights_of(part.module).values()
    )


def test_wrong_requests_say_what_is_wrong() -> None:
    for devices, choice, message in (
        ("cpu*2", "best", "unknown strategy 'best'"),
        ("cpu*2", "strategy=balance colour=red", "a partition has no option 'colour'"),
        ("cpu*2", "balance tolerance=much", "tolerance=much is no number"),
        ("cpu*2", "balance tolerance=nan", "the tolerance must be 0 or more"),
        ("tpu", "balance", "unknown backend 'tpu'"),
        ("cpu,", "balance", "'' is no device"),
        ("cpu:0GiB", "balance", "the memory of device 'cpu:0GiB' is no number"),
        ("cpu:10KiB", "memory", "more than there are"),
    ):
        with pytest.raises(GlowError, match=message):
            plan_model(DIGITS, devices, choice, EXACT)


def test_a_module_in_one_piece_has_no_plan() -> None:
    with pytest.raises(GlowError, match="not divided into parts"):
        split_module(load(DIGITS))


def test_an_output_is_the_result_of_one_part() -> None:
    text = """
    func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {glow.device = "cpu:0"} {
      %a = glow.neg %x : tensor<4xf32>
      func.return %a : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %a, %a : tensor<4xf32>, tensor<4xf32>
    }
    """
    with pytest.raises(GlowError, match="'output1' is no result of a part of its own"):
        split_module(parse_text(new_context(), text.encode(), "twice"))
