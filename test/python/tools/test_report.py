"""`glow report` and `--graph-diff`: what the pages hold, and that a browser shows them.

The tests of a browser run where one is found (Chromium or Chrome on the PATH); the
structure of the pages is checked everywhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks.networks import TINY_NETWORKS
from glow.backends.cpu.program.kernel_table import kernel_table
from glow.backends.cpu.report.costs import kernel_costs
from glow.backends.cpu.report.kernel_profile import TracedModel
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.dialects.node import shape_of
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import host_target
from glow.options import CompileOptions
from glow.signature import main_function
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt
from glow.tools.report.layout import COLUMN, layered
from glow.universe import new_context

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
VOID = {"meta", "input", "br"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two convolutions with a sum of them, its activation, and a pool."""
    weight = numpy_helper.from_array(np.ones((8, 8, 3, 3), np.float32), "weight")
    nodes = [
        helper.make_node("Conv", ["x", "weight"], ["a"], "left", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "weight"], ["b"], "right", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "b"], ["c"], "sum<&>"),
        helper.make_node("Relu", ["c"], ["d"], "activation"),
        helper.make_node("MaxPool", ["d"], ["e"], "pool", kernel_shape=[2, 2]),
        helper.make_node("Softmax", ["e"], ["y"], "softmax"),
    ]
    shapes = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 8, 12, 12]), ("y", [1, 8, 11, 11]))
    ]
    graph = helper.make_graph(nodes, "graph", shapes[:1], shapes[1:], [weight])
    opset = helper.make_opsetid("", 20)
    path = tmp_path_factory.mktemp("report") / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset]), str(path))
    return path


@pytest.fixture(scope="module")
def page(model: Path) -> Path:
    """The report with times."""
    path = model.with_name("report.html")
    run_glow(["report", str(model), "-o", str(path), "--profile", "--threads", "1"])
    return path


class Checker(HTMLParser):
    """Fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


def check_html(text: str) -> list[str]:
    """All tags of a well-formed page that needs nothing but itself."""
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.stack == []
    links = set(re.findall(r"""(?:https?:)?//[\w.-]+\.\w+[^\s"'<]*""", text))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=", text)
    return checker.seen


def test_page_tells_of_kernels_memory_and_fusions(page: Path) -> None:
    text = page.read_text()
    assert check_html(text).count("svg") == 2
    for name in ("summary", "graph", "memory", "instructions", "fusions"):
        assert f'<section id="{name}">' in text
    assert "operations a byte: " in text
    assert re.search(r"time: [\d.]+ us", text)
    # Nine multiplications and additions for each of 8 x 8 channels and 144 pixels.
    assert f"operations: {2 * 9 * 64 * 144:,}" in text
    assert re.search(r"<td>activation</td><td[^>]*>(left|right)</td>", text)
    assert "because" in text
    assert "sum&lt;&amp;&gt;" in text
    assert "sum<&>" not in text
    assert re.search(r"arena of [\d,]+ bytes; at most", text)


def test_report_without_times(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    run_glow(["report", str(model), "-o", str(output)])
    assert not re.search(r"time: [\d.]+ us", output.read_text())


def test_calls_of_a_loop_are_counted_as_often_as_they_run() -> None:
    module = load(TINY_NETWORKS["lstm"]())
    steps = shape_of(main_function(module).body.block.args[0])[0]
    lower_to(module, "instr")
    costs = kernel_costs(main_function(module), host_target(), kernel_table("cpu"))
    assert steps > 1
    assert max(cost.calls for cost in costs.values()) >= steps


def test_equal_calls_share_their_time() -> None:
    """Those of layers without weights, of which every other one is on the same memory."""
    softmax = "  %{} = glow.softmax %{} axis 1 : tensor<4x64xf32>"
    layers = "\n".join(softmax.format(k, k - 1 or "x") for k in range(1, 9))
    text = f"""
func.func @main(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {{
{layers}
  func.return %8 : tensor<4x64xf32>
}}"""
    module, options = parse_text(new_context(), text, "test"), CompileOptions(threads=1)
    profile = TracedModel(module.clone(), options).profile(
        {"x": np.ones((4, 64), np.float32)}, 3
    )
    lower_to(module, "instr")
    function = main_function(module)
    costs = kernel_costs(function, host_target(), kernel_table("cpu"), profile)
    assert len(set(profile.calls)) < len(profile.calls) == len(costs) == 8
    total = sum(row.seconds for row in profile.rows())
    assert sum(cost.seconds or 0.0 for cost in costs.values()) == pytest.approx(total)


@pytest.mark.parametrize("suffix", [".html", ".svg"])
def test_graph_diff(model: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"diff{suffix}"
    passes = ["--assign-layout", f"--graph-diff={picture}"]
    run_glow_opt([str(model), *passes, "-o", str(tmp_path / "out.mlir")])
    text = picture.read_text()
    check_html(text)
    assert re.search(r"before: \d+ nodes, [1-9]\d* of them go", text)
    assert re.search(r"after: \d+ nodes, [1-9]?\d* of them are new", text)
    assert 'class="box gone"' in text
    assert text.startswith("<svg" if suffix == ".svg" else "<!DOCTYPE html>")


def test_equal_programs_have_no_difference(model: Path, tmp_path: Path) -> None:
    picture = tmp_path / "diff.svg"
    run_glow_opt(
        [str(model), f"--graph-diff={picture}", "-o", str(tmp_path / "o.mlir")]
    )
    assert "0 of them go" in picture.read_text()
    assert "0 of them are new" in picture.read_text()


def test_graph_diff_writes_two_kinds_of_files(model: Path) -> None:
    with pytest.raises(GlowError, match=r"writes \.html and \.svg"):
        run_glow_opt([str(model), "--graph-diff=picture.png"])


def test_layout_is_layered_and_without_overlap() -> None:
    nodes = range(60)
    edges = [(n, m) for n in nodes for m in (n + 1, n + 7, 3 * n) if n < m < 60]
    places = layered(nodes, edges).places
    assert set(places) == set(nodes)
    for source, target in edges:
        assert places[source][1] < places[target][1]
    rows: dict[float, list[float]] = {}
    for x, y in places.values():
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        row.sort()
        assert all(b - a >= COLUMN - 1e-6 for a, b in pairwise(row))


def test_layout_of_a_cycle_and_of_nothing() -> None:
    assert set(layered([0, 1], [(0, 1), (1, 0)]).places) == {0, 1}
    assert layered([], []).places == {}


ACTIONS = """
const svg = document.querySelector('svg.graph'), body = document.body;
const before = svg.getAttribute('viewBox');
svg.dispatchEvent(new WheelEvent('wheel', {deltaY: -100, clientX: 200, clientY: 300}));
body.dataset.zoomed = svg.getAttribute('viewBox') !== before;
const zoomed = svg.getAttribute('viewBox');
svg.dispatchEvent(new PointerEvent('pointerdown', {clientX: 10, clientY: 10}));
svg.dispatchEvent(new PointerEvent('pointermove', {clientX: 60, clientY: 30}));
body.dataset.moved = svg.getAttribute('viewBox') !== zoomed;
svg.dispatchEvent(new MouseEvent('dblclick'));
body.dataset.reset = svg.getAttribute('viewBox') === before;
svg.dispatchEvent(new MouseEvent('dblclick'));
body.dataset.whole = svg.getAttribute('viewBox') === svg.dataset.whole;
const search = document.getElementById('search');
search.value = 'pool';
search.dispatchEvent(new Event('change'));
body.dataset.found = document.getElementById('chosen').textContent.includes('pool');
body.dataset.boxes = [...svg.querySelectorAll('.box rect')]
  .filter(one => one.getBoundingClientRect().width > 0).length;
body.dataset.buffers = [...document.querySelectorAll('svg.memory .buffer')]
  .filter(one => one.getBoundingClientRect().width > 0).length;
"""


@pytest.mark.skipif(BROWSER is None, reason="no browser on the PATH")
def test_page_works_in_a_browser(page: Path, tmp_path: Path) -> None:
    """Zoom, move, search: the page's own script, without a network."""
    driven = tmp_path / "driven.html"
    driven.write_text(
        page.read_text().replace("</body>", f"<script>{ACTIONS}</script></body>")
    )
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", driven.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    body = re.search(r"<body[^>]*>", dom)
    assert body is not None
    facts = dict(re.findall(r'data-(\w+)="(\w+)"', body[0]))
    for name in ("zoomed", "moved", "reset", "whole", "found"):
        assert facts[name] == "true", name
    assert int(facts["boxes"]) >= 5
    assert int(facts["buffers"]) >= 2
