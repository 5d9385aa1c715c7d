"""Networks on several backends: a node runs on the first that takes it."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import glow
from glow import compilation
from glow.backends import backend as backends
from glow.backends.backend import get_backend
from glow.backends.cpu import CpuBackend
from glow.backends.device import Buffer, Device
from glow.backends.interpreter import InterpreterBackend
from glow.backends.pipeline import Pipeline
from glow.compiler import lower_to
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.frontends.mlir import parse_text
from glow.options import CompileOptions
from glow.passes.graph.fuse_activation import FuseActivationPass
from glow.passes.graph.partition.assign_backends import assign_backends
from glow.tools.glow import run_glow
from glow.universe import new_context

SMALL = ROOT / "docs" / "small.mlir"
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
Arrays = Sequence[np.ndarray]

CHAIN = """
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = glow.constant dense<0.25> : tensor<4x4xf32>
  %a = glow.matmul %x, %w : tensor<2x4xf32>
  %b = glow.matmul %a, %w : tensor<2x4xf32>
  %s = glow.softmax %b axis 1 : tensor<2x4xf32>
  %c = glow.matmul %s, %w : tensor<2x4xf32>
  func.return %c, %a : tensor<2x4xf32>, tensor<2x4xf32>
}
"""
CROSSING = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = glow.matmul %x, %x : tensor<4x4xf32>
  %s = glow.softmax %a axis 1 : tensor<4x4xf32>
  %c = glow.matmul %s, %a : tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}
"""
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def graph(text: str) -> ModuleOp:
    """The module of a text."""
    return parse_text(new_context(), text.encode(), "test")


class ProductsBackend(InterpreterBackend):
    """Has products alone, and wants them without activations."""

    name = "products"

    def refuses(self, op: Operation) -> str | None:
        if isinstance(op, nodes.MatmulOp | nodes.FullyConnectedOp | nodes.Conv2dOp):
            has_activation = "activation" in op.properties
            return "it has an activation" if has_activation else None
        return "it is no product"

    def pipeline(self, options: CompileOptions) -> Pipeline:
        return (
            super()
            .pipeline(options)
            .change(
                "graph",
                lambda passes: [
                    one for one in passes if not isinstance(one, FuseActivationPass)
                ],
            )
        )


class NothingBackend(ProductsBackend):
    """Takes no node."""

    name = "nothing"

    def refuses(self, op: Operation) -> str | None:
        return "it takes nothing"


@dataclass
class BoxBuffer:
    """An array in the memory of a device."""

    array: np.ndarray
    device: str
    counts: Counter[str]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self) -> np.ndarray:
        self.counts["read"] += 1
        return self.array.copy()


class BoxFunction:
    """Runs products on buffers, and counts the copies."""

    device = "box:0"

    def __init__(self, inner: Any, counts: Counter[str]) -> None:
        self.inner, self.counts = inner, counts

    def run(self, inputs: Arrays) -> list[np.ndarray]:
        return [buffer.read() for buffer in self.run_buffers(inputs)]

    def run_buffers(self, inputs: Sequence[Any]) -> list[BoxBuffer]:
        self.counts["written"] += sum(isinstance(one, np.ndarray) for one in inputs)
        arrays = [one if isinstance(one, np.ndarray) else one.array for one in inputs]
        results = self.inner.run(arrays)
        return [BoxBuffer(array, self.device, self.counts) for array in results]


class BoxBackend(ProductsBackend):
    """The same on a device with memory of its own."""

    name = "box"

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def compile(self, module: ModuleOp, options: CompileOptions) -> Any:
        return BoxFunction(super().compile(module, options), self.counts)

    def devices(self) -> Sequence[Device]:
        return [Device("box:0", "box", 1 << 20, transfer_bytes_per_second=1e9)]


class WrongBackend(ProductsBackend):
    """Gives arrays that nobody asked for."""

    name = "wrong"
    results: Any = None

    def compile(self, module: ModuleOp, options: CompileOptions) -> Any:
        results = self.results

        class Function:
            def run(self, inputs: Arrays) -> Any:
                return results

        return Function()


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backends of this file."""
    monkeypatch.setattr(backends, "_loaded", {**backends._loaded})
    backends._fallback.cache_clear()
    for kind in (ProductsBackend, NothingBackend, BoxBackend, WrongBackend):
        backends._loaded[kind.name] = kind()


def parts_of(module: ModuleOp, backend: str) -> list[str]:
    """The names of the functions that a graph is divided into."""
    lower_to(module, "parts", backend=backend)
    return [op.sym_name.data for op in module.ops][:-1]


def test_a_network_runs_on_the_first_that_takes_a_node() -> None:
    image = np.random.default_rng(0).random((1, 1, 8, 8), np.float32)
    expected = glow.compile(DIGITS)(image)
    model = glow.compile(DIGITS, backend=["products", "cpu"])
    assert "part0_products on products:0, part1_cpu on cpu:0" in repr(model)
    np.testing.assert_allclose(model(image), expected, rtol=1e-4, atol=1e-5)
    assert model.backend == "products,cpu"


def test_parts_are_seen_as_text() -> None:
    module = graph(CHAIN)
    assert parts_of(module, "products,cpu") == [
        "part0_products",
        "part1_cpu",
        "part2_products",
    ]
    assert parts_of(graph(CHAIN), "cpu,products") == ["part0_cpu"]


def test_graph_passes_are_those_of_the_first() -> None:
    """Else a product has an activation by then, which it does not take."""
    text = CHAIN.replace("glow.softmax %b axis 1", "glow.relu %b")
    assert len(parts_of(graph(text), "products,cpu")) == 3
    assert parts_of(graph(text), "cpu,products") == ["part0_cpu"]


BETWEEN = """
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %w = glow.constant dense<0.25> : tensor<4x4xf32>
  %a = glow.matmul %x, %w : tensor<2x4xf32>
  %q = quant.qcast %a : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32, 0.5>>
  %d = quant.dcast %q : tensor<2x4x!quant.uniform<i8:f32, 0.5>> to tensor<2x4xf32>
  %r = scf.for %i = %0 to %1 step %1 iter_args(%s = %d) -> (tensor<2x4xf32>) {
    %n = glow.matmul %s, %w : tensor<2x4xf32>
    scf.yield %n : tensor<2x4xf32>
  }
  func.return %r : tensor<2x4xf32>
}
"""


def test_casts_and_loops_are_asked_about() -> None:
    """They are no products, though there is nothing but a product in the loop."""
    module = graph(BETWEEN)
    assign_backends(module, ["products", "cpu"])
    text = str(module)
    assert text.count('backend "products"') == 1
    assert text.count('glow.backend = "cpu"') == 3


def test_a_graph_is_printed_for_any_backend() -> None:
    lower_to(graph(CHAIN), "graph", backend="products")
    with pytest.raises(GlowError, match=r"take 1 node: glow\.softmax at 's'"):
        lower_to(graph(CHAIN), "lowered", backend="products")


def test_what_takes_nothing_costs_nothing() -> None:
    """The function is the one that the CPU has alone."""
    plain, model = glow.compile(SMALL), glow.compile(SMALL, backend="nothing,cpu")
    assert type(model.function) is type(plain.function)
    image = np.random.default_rng(0).random((1, 3, 4, 4), np.float32)
    np.testing.assert_array_equal(model(image), plain(image))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again(image), plain(image))


def test_models_of_the_last_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "100")
    loads = []
    load = CpuBackend.load_program
    monkeypatch.setattr(
        CpuBackend, "load_program", lambda *args: [loads.append(1), load(*args)][1]
    )
    for _ in range(2):
        glow.compile(SMALL, backend="nothing,cpu")
        compilation.wait_for_stores()
    assert len(loads) == 1


def test_parts_of_one_device_hand_over_buffers() -> None:
    """What the second product reads of the first one stays on the device."""
    box = get_backend("box")
    assert isinstance(box, BoxBackend)
    model = glow.compile(graph(CROSSING), backend="box,cpu")
    box.counts.clear()
    expected = glow.compile(graph(CROSSING), backend="interpreter")(X)
    np.testing.assert_allclose(model(X), expected, rtol=1e-5)
    assert box.counts == {"written": 2, "read": 2}, "x, s; a for the CPU, c"
    assert isinstance(BoxBuffer(X, "box:0", box.counts), Buffer)


def test_all_that_is_refused_is_told_at_once() -> None:
    with pytest.raises(GlowError) as caught:
        glow.compile(DIGITS, backend="products")
    message = str(caught.value)
    assert message.startswith("backend 'products' does not take 9 nodes: ")
    assert "glow.add at 'layer.3.residual.sum/Add', 'layer.5.resid" in message
    assert message.count("(it is no product)") == 4
    assert message.endswith("name a fallback: --backend=products,cpu")
    with pytest.raises(GlowError) as caught:
        glow.compile(graph(CHAIN), backend="products,nothing")
    assert str(caught.value) == (
        "none of the backends products, nothing takes 1 node: glow.softmax at 's' "
        "(products: it is no product; nothing: it takes nothing); name a fallback: "
        "--backend=products,nothing,cpu"
    )


WRONG: list[tuple[object, str]] = [
    (
        [np.zeros((4, 3), np.float32)],
        r"output 'a' as float32\[4, 3\], which is float32",
    ),
    ([np.zeros((4, 4))], r"output 'a' as float64\[4, 4\], which is float32\[4, 4\]"),
    ([], "0 outputs, not 1"),
    ([[1.0]], "output 'a' as list, no array"),
]


@pytest.mark.parametrize(("results", "message"), WRONG)
def test_wrong_results_name_their_backend(
    results: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the border, or where the network ends."""
    monkeypatch.setattr(WrongBackend, "results", results)
    one = CROSSING.replace("%s, %a", "%s, %s")
    with pytest.raises(GlowError, match=f"^backend 'wrong' gave {message}"):
        glow.compile(graph(one), backend="wrong,cpu")(X)
    alone = CROSSING.replace("return %c", "return %a")
    message = message.replace("'a'", "'output0'")
    with pytest.raises(GlowError, match=f"^backend 'wrong' gave {message}"):
        glow.compile(graph(alone), backend="wrong")(X)


def test_wrong_buffers_name_their_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    model = glow.compile(graph(CROSSING), backend="box,cpu")
    monkeypatch.setattr(BoxBuffer, "dtype", np.dtype(np.float64))
    with pytest.raises(GlowError, match="backend 'box' gave output 'a' as float64"):
        model(X)


STATE = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %v = glow.variable @v : tensor<4x4xf32>
  %a = glow.matmul %x, %x : tensor<4x4xf32>
  %s = glow.add %v, %a : tensor<4x4xf32>
  glow.save %s, @v
  func.return %s : tensor<4x4xf32>
}
"""


def test_variables_live_in_their_part() -> None:
    model = glow.compile(graph(STATE), backend="products,cpu")
    np.testing.assert_allclose(model(X), X @ X, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model(X), 2 * (X @ X), rtol=1e-5, atol=1e-6)
    assert [*model.variables] == ["v"]
    assert model.variables["v"].any()


def test_a_network_without_nodes_runs() -> None:
    text = "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
    model = glow.compile(
        graph(text + "func.return %x : tensor<4x4xf32>\n}"), backend="products,cpu"
    )
    np.testing.assert_array_equal(model(X), X)


def test_options_are_for_those_that_know_them() -> None:
    """A target of the CPU's, and a device of one of them."""
    model = glow.compile(
        graph(CROSSING), backend="box,cpu", target="x86-64-v3", device="box:0"
    )
    np.testing.assert_allclose(
        model(X), glow.compile(graph(CROSSING), backend="cpu")(X), rtol=1e-5
    )
    with pytest.raises(
        GlowError, match="unknown device 'tpu:0'; there are box:0, cpu:0"
    ):
        glow.compile(graph(CROSSING), backend="box,cpu", device="tpu:0")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("cpu,cpu", "backend 'cpu' is named twice in 'cpu,cpu'"),
        ("cpu,", "unknown backend ''"),
        ("tpu,cpu", "unknown backend 'tpu'"),
        (["cpu", 3], "backend must be a name, not 3"),
    ],
)
def test_wrong_names(names: Any, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        glow.compile(SMALL, backend=names)


def test_the_tool_runs_and_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crossing.mlir"
    path.write_text(CROSSING)
    run_glow(["run", str(path), "--backend=products,cpu", "--output", str(tmp_path)])
    assert np.load(tmp_path / "output0.npy").shape == (4, 4)
    run_glow(["compile", str(path), "--backend=products,cpu", "--emit=parts"])
    assert "func.call @part1_cpu" in capsys.readouterr().out
