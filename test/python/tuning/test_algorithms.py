"""What only a network can judge: each choice is asked for, changes the program, and keeps the
results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.tuning.algorithms import TEXTS, AlgorithmSpec, LevelConfig
from glow.backends.cpu.tuning.candidates import candidates
from glow.backends.cpu.tuning.families import spec_text, wrong_config
from glow.backends.cpu.tuning.subject import KernelSpace
from glow.compiler import load, lower_to
from glow.interpreter import run
from glow.lowering.target.target import Target
from glow.tuning import choices
from glow.tuning.records import kernel_key


def normal(*shape: int) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    return random.standard_normal(shape).astype(np.float32)


def model_of(
    node: str, x: tuple[int, ...], *weights: np.ndarray, **more: Any
) -> ModelProto:
    """Nodes behind each other, one for each of the weights."""
    layers = len(weights)
    names = ["x", *(f"h{n}" for n in range(1, layers)), "y"]
    nodes = [
        helper.make_node(node, [names[n], f"w{n}"], [names[n + 1]], **more)
        for n in range(layers)
    ]
    constants = [numpy_helper.from_array(w, f"w{n}") for n, w in enumerate(weights)]
    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, x)],
        [helper.make_tensor_value_info("y", kind, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def conv(x: tuple[int, ...], *weights: np.ndarray, **more: Any) -> ModelProto:
    return model_of("Conv", x, *weights, **more)


def conv_of_bytes(x: tuple[int, ...], weights: np.ndarray, **more: Any) -> ModelProto:
    """Floats that become bytes, and their convolution in integers."""
    model = model_of("ConvInteger", x, weights, **more)
    graph, (node,) = model.graph, model.graph.node
    scale, zero = np.float32(0.05), np.uint8(128)
    for name, value in {"scale": scale, "zero": zero}.items():
        graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    node.input[:], node.output[:] = ["bytes", "w0", "zero"], ["sums"]
    graph.node.insert(
        0, helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["bytes"])
    )
    to_floats = helper.make_node("Cast", ["sums"], ["y"], to=TensorProto.FLOAT)
    graph.node.append(to_floats)
    return model


@dataclass(frozen=True)
class Case:
    """A network with one choice; `sign` says of a lowered program whether the level is not 0."""

    model: Callable[[], ModelProto]
    usual: bool
    sign: Callable[[str], bool]
    options: dict[str, Any]
    error: float = 1e-5


PADDED = {"pads": [1] * 4}

CASES = {
    "winograd": Case(
        lambda: conv((1, 64, 16, 16), normal(64, 64, 3, 3) / 24, **PADDED),
        True,
        lambda text: "cpu.winograd_conv2d" in text,
        {},
        1e-4,
    ),
    "int8_winograd": Case(
        lambda: conv_of_bytes(
            (1, 64, 28, 28), (24 * normal(64, 64, 3, 3)).astype(np.int8), **PADDED
        ),
        True,
        lambda text: "cpu.int8_winograd_conv2d" in text,
        {},
        0.0,
    ),
    "strassen": Case(
        lambda: model_of("MatMul", (128, 768), normal(768, 768) / 28),
        True,
        lambda text: "cpu.strassen_matmul" in text,
        {},
        1e-4,
    ),
    "space_to_depth": Case(
        lambda: conv((1, 3, 64, 64), normal(32, 3, 7, 7) / 12, strides=[2, 2]),
        False,
        lambda text: "input_channels 12" in text,
        {},
        1e-4,
    ),
    "blocks": Case(
        lambda: conv((1, 16, 12, 12), normal(6, 16, 3, 3) / 12, **PADDED),
        True,
        lambda text: "cpu.plain_conv2d" not in text,
        {},
    ),
    "plain_input": Case(
        lambda: conv((1, 3, 12, 12), normal(16, 3, 3, 3) / 5, **PADDED),
        True,
        lambda text: "cpu.pack " not in text,
        {},
    ),
    "batch": Case(
        lambda: conv(
            (3, 16, 48, 48),
            normal(16, 16, 3, 3) / 12,
            normal(16, 16, 3, 3)[::-1] / 12,
            **PADDED,
        ),
        False,
        lambda text: "tensor<1x2x48x48x8xf32>" in text,
        {"numerics": "exact"},
        0.0,
    ),
    "bf16": Case(
        lambda: model_of("MatMul", (9, 64), normal(64, 48) / 8),
        True,
        lambda text: "xbf16>" in text,
        {"precision": "bf16", "target": "avx512bf16"},
        1e-2,
    ),
    "bf16_weights": Case(
        lambda: model_of("MatMul", (1, 1024), normal(1024, 512) / 32),
        True,
        lambda text: "xbf16>" in text,
        {"numerics": "fast"},
        1e-2,
    ),
}


def lowered(case: Case, configs: dict[str, Any], found: list[Any]) -> ModuleOp:
    options = {"target": "avx2", **case.options}
    with choices.using(configs), choices.watching(lambda spec, _: found.append(spec)):
        module = lower_to(load(case.model()), "lowered", **options)
    assert isinstance(module, ModuleOp)
    return module


def test_there_is_a_case_for_each_choice() -> None:
    assert CASES.keys() == TEXTS.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_choice_changes_the_program_and_keeps_the_results(name: str) -> None:
    case, found = CASES[name], list[Any]()
    usual = lowered(case, {}, found)
    assert case.sign(str(usual)) == case.usual
    spec, *_ = (
        spec
        for spec in found
        if isinstance(spec, AlgorithmSpec) and spec.algorithm == name
    )
    assert (spec.level > 0) == case.usual
    assert spec.operations
    target = Target.from_string(case.options.get("target", "avx2"))
    own, other = candidates(spec, target)
    assert own == LevelConfig(spec.level)
    assert wrong_config(spec, LevelConfig(99), target) == "level 99"
    key = kernel_key(spec_text(spec))
    changed = lowered(case, {key: {"level": other.level}}, [])
    assert case.sign(str(changed)) != case.usual
    x = normal(
        *(d.dim_value for d in case.model().graph.input[0].type.tensor_type.shape.dim)
    )
    (expected,), (result,) = run(usual, [x]), run(changed, [x])
    scale = np.abs(expected).max()
    assert np.abs(result - expected).max() <= case.error * scale


def test_choices_have_the_share_of_what_they_compute() -> None:
    """They are tried in that order, and a line says which way is tried."""
    space, model = (
        KernelSpace(Target.from_string("avx2")),
        conv(
            (1, 64, 16, 16),
            normal(64, 64, 3, 3) / 24,
            normal(6, 64, 3, 3) / 24,
            **PADDED,
        ),
    )
    with choices.watching(space.note):
        lower_to(load(model), "lowered", target="avx2")
    kernels = space.tunables(dict.fromkeys(space.specs, 0.5), has_threads=False)
    large, small = (kernel for kernel in kernels if kernel.family == "AlgorithmSpec")
    assert not large.alone
    assert 0 < 2 * small.share < large.share
    assert large.text == "no winograd 64 64 (3x3)/(1x1) on (16x16)"
    assert small.text.startswith("no winograd 64 6 ")
    for kernel in (kernel for kernel in kernels if kernel.family == "WinogradSpec"):
        assert kernel.judged == "fused"
        assert {config.fused for config in kernel.configs} == {False, True}
