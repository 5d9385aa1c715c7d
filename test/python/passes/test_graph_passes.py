"""Graph passes and layout assignment keep a network's meaning.

Every pass runs on small networks; the interpreter's results before and after must agree.
Padding lanes are NaN in the interpreter, so a pass that reads one is caught.
"""

# ruff: noqa: E501  (programs are wide)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import Universe

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.dialects import glow
from glow.dialects.node import NodeOp, node_name, shape_of
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.lowering.target.target import Target
from glow.passes.graph.commute_pools import MONOTONE
from glow.universe import get_glow_passes, new_context

Array = npt.NDArray[np.generic]

PIPELINE = (
    "verify-graph canonicalize merge-weights fold-constants convert-gemm optimize-graph "
    "fold-batch-norm merge-branches eliminate-transposes fold-scale hoist-pool fold-constants "
    "canonicalize sink-upsampling fuse-activation fold-channel-shuffle merge-weights lower-nodes "
    "assign-layout cancel-packs canonicalize cse fuse-pool fuse-epilogue "
    "free-unused-weights verify-lowered"
).split()
"""The order in which the CPU backend runs the passes."""

CONTEXT = new_context()


def apply(module: ModuleOp, name: str, **options: str) -> None:
    """Run one pass and verify the result."""
    passes = {**Universe.get_multiverse().all_passes, **get_glow_passes()}
    passes[name]()(**options).apply(CONTEXT, module)
    module.verify()


def parse(text: str) -> ModuleOp:
    """The module of a text."""
    return parse_text(CONTEXT, text, "test")


def evaluate(module: ModuleOp, inputs: Sequence[Array], target: str) -> list[Array]:
    """The interpreter's results, with weights packed for a target."""
    return run(
        module,
        inputs,
        own=cpu_functions(packings_of(TargetPacker(Target.from_string(target)))),
    )


def assert_close(actual: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Results agree within 1e-5 of the largest output."""
    for a, e in zip(actual, expected, strict=True):
        scale = max(float(np.abs(e).max()), 1e-6)
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-5 * scale, err_msg=what)


def random_inputs(module: ModuleOp, seed: int = 0) -> list[Array]:
    """Random f32 arrays for the arguments of @main."""
    function = next(iter(module.ops))
    random = np.random.default_rng(seed)
    return [
        random.standard_normal(shape_of(argument)).astype(np.float32)
        for argument in function.regions[0].block.args
    ]


def check_pipeline(module: ModuleOp, inputs: Sequence[Array], target: str) -> None:
    """Each pass of the CPU's pipeline keeps the results."""
    expected = run(module, inputs)
    for name in PIPELINE:
        options = {"target": target} if name == "assign-layout" else {}
        apply(module, name, **options)
        assert_close(evaluate(module, inputs, target), expected, name)


@pytest.mark.parametrize("target", ["avx512", "avx2", "scalar"])
@pytest.mark.parametrize("name", ["mobilenet_v2", "bert", "lstm"])
def test_networks_keep_their_results(name: str, target: str) -> None:
    from benchmarks.networks import TINY_NETWORKS, make_inputs

    model = TINY_NETWORKS[name]()
    module = import_model(model)
    check_pipeline(module, list(make_inputs(model, 0).values()), target)


def weight(module_text: str, **arrays: tuple[int, ...]) -> ModuleOp:
    """A module whose weight table has random arrays of the given shapes."""
    module = parse(module_text)
    random = np.random.default_rng(1)
    for name, shape in arrays.items():
        weights_of(module)[name] = random.standard_normal(shape).astype(np.float32)
    return module


RESIDUAL = """
func.func @main(%x: tensor<2x3x9x9xf32>) -> tensor<2x10xf32> {
  %w1 = glow.constant @w1 : tensor<20x3x3x3xf32>
  %w2 = glow.constant @w2 : tensor<20x20x1x1xf32>
  %w3 = glow.constant @w3 : tensor<20x1x3x3xf32>
  %w4 = glow.constant @w4 : tensor<10x20xf32>
  %b = glow.constant @b : tensor<20xf32>
  %s = glow.constant @s : tensor<20x1x1xf32>
  %v = glow.splat 2.0 : tensor<20xf32>
  %a = glow.conv2d %x, %w1 pads [1, 1, 1, 1] strides [2, 2] : tensor<2x20x5x5xf32>
  %n = glow.batch_norm %a, %b, %b, %b, %v : tensor<2x20x5x5xf32>
  %r = glow.clip %n low 0.0 high 6.0 : tensor<2x20x5x5xf32>
  %c = glow.conv2d %r, %w2, %b : tensor<2x20x5x5xf32>
  %d = glow.conv2d %r, %w3 group 20 pads [1, 1, 1, 1] : tensor<2x20x5x5xf32>
  %e = glow.mul %c, %s : tensor<2x20x5x5xf32>
  %f = glow.add %d, %e : tensor<2x20x5x5xf32>
  %g = glow.sigmoid %f : tensor<2x20x5x5xf32>
  %h = glow.mul %g, %f : tensor<2x20x5x5xf32>
  %l = glow.local_response_norm %h size 3 : tensor<2x20x5x5xf32>
  %p = glow.max_pool2d %l kernel [3, 3] pads [1, 1, 1, 1] : tensor<2x20x5x5xf32>
  %q = glow.avg_pool2d %p kernel [2, 2] strides [2, 2] ceil_mode : tensor<2x20x3x3xf32>
  %m = glow.reduce_mean %q axes [2, 3] keepdims : tensor<2x20x1x1xf32>
  %i = glow.reshape %m : tensor<2x20xf32>
  %j = glow.gemm %i, %w4 transpose_rhs : tensor<2x10xf32>
  %k = glow.softmax %j axis 1 : tensor<2x10xf32>
  func.return %k : tensor<2x10xf32>
}
"""


@pytest.mark.parametrize("target", ["avx512", "scalar"])
def test_blocked_network_with_odd_channels(target: str) -> None:
    module = weight(
        RESIDUAL,
        w1=(20, 3, 3, 3),
        w2=(20, 20, 1, 1),
        w3=(20, 1, 3, 3),
        w4=(10, 20),
        b=(20,),
        s=(20, 1, 1),
    )
    check_pipeline(module, random_inputs(module), target)
    names = {op.name for op in module.walk()}
    assert "cpu.pack" not in names
    assert {"cpu.conv2d", "cpu.depthwise_conv2d", "cpu.matmul"} <= names


GROUPS = """
func.func @main(%x: tensor<1x32x4x4xf32>, %y: tensor<1x32x4x4xf32>) -> (tensor<1x40x4x4xf32>, tensor<1x32x4x4xf32>) {
  %w1 = glow.constant @w1 : tensor<32x16x1x1xf32>
  %w2 = glow.constant @w2 : tensor<40x8x3x3xf32>
  %a = glow.conv2d %x, %w1 group 2 activation "leaky_relu" activation_args [0.25] : tensor<1x32x4x4xf32>
  %t = glow.concat %a, %y axis 1 : tensor<1x64x4x4xf32>
  %u = glow.slice %t starts [0, 16, 0, 0] sizes [1, 32, 4, 4] steps [1, 1, 1, 1] : tensor<1x32x4x4xf32>
  %v = glow.pad %u pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x32x6x6xf32>
  %b = glow.conv2d %v, %w2 group 4 activation "hard_swish" : tensor<1x40x4x4xf32>
  %z = glow.max %u, %y : tensor<1x32x4x4xf32>
  func.return %b, %z : tensor<1x40x4x4xf32>, tensor<1x32x4x4xf32>
}
"""


def test_groups_and_moves() -> None:
    module = weight(GROUPS, w1=(32, 16, 1, 1), w2=(40, 8, 3, 3))
    check_pipeline(module, random_inputs(module), "avx512")
    groups = [
        op.group.value.data for op in module.walk() if isinstance(op, cpu.Conv2dOp)
    ]
    assert groups == [2, 1]


@pytest.mark.parametrize("kernel", [3, 5])
def test_groups_that_fill_blocks_take_few_multiplications(kernel: int) -> None:
    size, pads = f"{kernel}x{kernel}", [kernel // 2] * 4
    text = f"""
func.func @main(%x: tensor<{{batch}}x64x14x14xf32>) -> tensor<{{batch}}x64x14x14xf32> {{{{
  %w = glow.constant @w : tensor<64x32x{size}xf32>
  %b = glow.constant @b : tensor<64xf32>
  %y = glow.conv2d %x, %w, %b group 2 pads {pads} activation "relu" : tensor<{{batch}}x64x14x14xf32>
  func.return %y : tensor<{{batch}}x64x14x14xf32>
}}}}"""
    for batch in (1, 2):
        module = weight(text.format(batch=batch), w=(64, 32, kernel, kernel), b=(64,))
        check_pipeline(module, random_inputs(module), "avx512")
        names = [op.name for op in module.walk()]
        assert names.count("cpu.winograd_conv2d") == 1


def test_many_odd_groups_stay_plain() -> None:
    module = weight(
        """
func.func @main(%x: tensor<1x36x4x4xf32>) -> tensor<1x48x4x4xf32> {
  %w = glow.constant @w : tensor<48x3x3x3xf32>
  %b = glow.splat 0.5 : tensor<48xf32>
  %y = glow.conv2d %x, %w, %b group 12 pads [1, 1, 1, 1] : tensor<1x48x4x4xf32>
  func.return %y : tensor<1x48x4x4xf32>
}""",
        w=(48, 3, 3, 3),
    )
    check_pipeline(module, random_inputs(module), "avx512")
    assert "cpu.plain_conv2d" in {op.name for op in module.walk()}


SHUFFLE = """
func.func @main(%x: tensor<1x24x4x4xf32>) -> tensor<1x24x4x4xf32> {
  %w1 = glow.constant @w1 : tensor<24x6x1x1xf32>
  %w2 = glow.constant @w2 : tensor<24x1x3x3xf32>
  %b = glow.constant @b : tensor<24xf32>
  %a = glow.conv2d %x, %w1, %b group 4 : tensor<1x24x4x4xf32>
  %r = glow.relu %a : tensor<1x24x4x4xf32>
  %s = glow.reshape %r : tensor<1x4x6x4x4xf32>
  %t = glow.transpose %s permutation [0, 2, 1, 3, 4] : tensor<1x6x4x4x4xf32>
  %u = glow.reshape %t : tensor<1x24x4x4xf32>
  %c = glow.conv2d %u, %w2 group 24 pads [1, 1, 1, 1] : tensor<1x24x4x4xf32>
  %d = glow.conv2d %c, %w1 group 4 : tensor<1x24x4x4xf32>
  %e = glow.add %d, %x : tensor<1x24x4x4xf32>
  func.return %e : tensor<1x24x4x4xf32>
}
"""


def test_channel_shuffle_costs_nothing() -> None:
    module = weight(SHUFFLE, w1=(24, 6, 1, 1), w2=(24, 1, 3, 3), b=(24,))
    check_pipeline(module, random_inputs(module), "avx512")
    names = [op.name for op in module.walk()]
    assert "glow.transpose" not in names
    assert names.count("cpu.pack") == names.count("cpu.unpack") == 1


def test_pool_goes_before_a_pointwise_convolution() -> None:
    module = weight(
        """
func.func @main(%x: tensor<2x20x7x9xf32>) -> tensor<2x24x3x4xf32> {
  %w = glow.constant @w : tensor<24x20x1x1xf32>
  %b = glow.constant @b : tensor<24xf32>
  %y = glow.conv2d %x, %w, %b : tensor<2x24x7x9xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<2x24x3x4xf32>
  func.return %z : tensor<2x24x3x4xf32>
}""",
        w=(24, 20, 1, 1),
        b=(24,),
    )
    check_pipeline(module, random_inputs(module), "avx512")
    kinds = (glow.AvgPool2dOp, cpu.Conv2dOp)
    order = [type(op) for op in module.walk() if isinstance(op, kinds)]
    assert order == [glow.AvgPool2dOp, cpu.Conv2dOp]


NODES = """
func.func @main(%x: tensor<2x6xf32>, %w: tensor<6x4xf32>, %c: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x12xf32>) {{
  %s = glow.splat 0.5 : tensor<6xf32>
  %v = glow.splat 2.0 : tensor<6xf32>
  %a = glow.{unary} %x : tensor<2x6xf32>
  %b = glow.batch_norm %a, %s, %v, %s, %v : tensor<2x6xf32>
  %l = glow.layer_norm %b, %v, %s axis 1 : tensor<2x6xf32>
  %g = glow.gemm %l, %w, %c alpha 0.5 beta 2.0 : tensor<2x4xf32>
  %f = glow.fully_connected %l, %w activation "clip" activation_args [-1.0, 1.0] : tensor<2x4xf32>
  %h = glow.add %g, %f : tensor<2x4xf32>
  %m = glow.log_softmax %h axis 1 : tensor<2x4xf32>
  %n = glow.softmax %m axis 0 : tensor<2x4xf32>
  %o = glow.reduce_mean %a axes [0] keepdims : tensor<1x6xf32>
  %t = glow.tile %o repeats [4, 2] : tensor<4x12xf32>
  func.return %n, %t : tensor<2x4xf32>, tensor<4x12xf32>
}}
"""

LOWERED_UNARY = (
    "relu", "sigmoid", "leaky_relu", "elu", "hard_sigmoid", "hard_swish", "softplus",
    "softsign", "mish", "gelu", "gelu_tanh", "clip",
)  # fmt: skip


@pytest.mark.parametrize("unary", LOWERED_UNARY)
def test_node_lowering_keeps_results(unary: str) -> None:
    module = parse(NODES.format(unary=unary))
    inputs = random_inputs(module)
    expected = run(module, inputs)
    apply(module, "lower-nodes", backend="none")
    apply(module, "verify-lowered", backend="none")
    assert_close(run(module, inputs), expected, unary)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_becomes_a_loop(direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    module = parse(f"""
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<{count}x16x3xf32>, %r: tensor<{count}x16x4xf32>, %b: tensor<{count}x32xf32>, %h: tensor<{count}x2x4xf32>, %c: tensor<{count}x2x4xf32>) -> (tensor<5x{count}x2x4xf32>, tensor<{count}x2x4xf32>, tensor<{count}x2x4xf32>) {{
  %y, %u, %v = glow.lstm %x, %w, %r, %b, %h, %c direction "{direction}" : tensor<5x{count}x2x4xf32>, tensor<{count}x2x4xf32>, tensor<{count}x2x4xf32>
  func.return %y, %u, %v : tensor<5x{count}x2x4xf32>, tensor<{count}x2x4xf32>, tensor<{count}x2x4xf32>
}}""")
    inputs = random_inputs(module)
    expected = run(module, inputs)
    apply(module, "lower-nodes")
    names = [op.name for op in module.walk()]
    assert "glow.lstm" not in names
    assert names.count("scf.for") == count
    assert_close(run(module, inputs), expected, direction)


def test_names_of_nodes_stay() -> None:
    from benchmarks.networks import TINY_NETWORKS

    module = import_model(TINY_NETWORKS["mobilenet_v2"]())
    before = {node_name(op) for op in module.walk() if isinstance(op, glow.Conv2dOp)}
    for name in PIPELINE:
        apply(module, name)
    kinds = (cpu.Conv2dOp, cpu.DepthwiseConv2dOp, cpu.PlainConv2dOp)
    after = {node_name(op) for op in module.walk() if isinstance(op, kinds)}
    assert None not in after
    assert before == after


def test_shared_weights_are_packed_once() -> None:
    module = weight(
        """
func.func @main(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %w = glow.constant @w : tensor<16x16x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  %z = glow.conv2d %y, %w : tensor<1x16x4x4xf32>
  func.return %z : tensor<1x16x4x4xf32>
}""",
        w=(16, 16, 1, 1),
    )
    apply(module, "assign-layout", target="avx512")
    apply(module, "free-unused-weights")
    assert list(weights_of(module)) == ["w.packed"]


@pytest.mark.parametrize("node", MONOTONE, ids=lambda node: node.name)
def test_functions_behind_maximum_pools_never_fall(node: type[NodeOp]) -> None:
    """Else the maximum of a function is not the function of the maximum."""
    x = np.linspace(-9, 9, 4001, dtype=np.float32)
    module = parse(
        f"""func.func @main(%x: tensor<4001xf32>) -> tensor<4001xf32> {{
          %y = {node.name} %x : tensor<4001xf32>
          func.return %y : tensor<4001xf32>
        }}"""
    )
    (y,) = run(module, [x])
    assert np.all(np.diff(y) >= -1e-6 * np.abs(y[1:]))
