"""What nodes should cost by the machine model: against bounds that any model has to keep."""

import sys
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from xdsl.ir import Operation

from glow.backends.backend import get_backend
from glow.backends.pipeline import GRAPH
from glow.compiler import load, lower_to
from glow.dialects import glow
from glow.frontends.mlir import parse_text
from glow.lowering.target.core_file import core_text
from glow.lowering.target.cores import CORES
from glow.options import CompileOptions
from glow.signature import main_function
from glow.universe import new_context

sys.path.insert(0, str(ROOT))
from benchmarks.estimates import Part, compare, worst_cut

ONE = CompileOptions(threads=1, target="znver5")
CPU = get_backend("cpu")


def node(text: str, arguments: str) -> Operation:
    """The last node of a function's body."""
    program = f"func.func @main({arguments}) {{\n{text}\nfunc.return\n}}"
    ops = [*main_function(parse_text(new_context(), program.encode(), "t")).walk()]
    return [op for op in ops if op.name.startswith("glow.")][-1]


def product(rows: int, depth: int = 512, columns: int = 512, element: str = "f32"):
    """A product of constant weights."""
    return node(
        f"%w = glow.splat 1.0 : tensor<{depth}x{columns}x{element}>\n"
        f"%y = glow.matmul %x, %w : tensor<{rows}x{columns}x{element}>",
        f"%x: tensor<{rows}x{depth}x{element}>",
    )


def cost(op: Operation, **changes: object) -> float:
    options = {"threads": 1, "target": "znver5", **changes}
    found = CPU.estimate_cost(op, CompileOptions(**options))
    assert found is not None
    return found


def test_products_take_what_the_core_can_multiply() -> None:
    """At least the peak's time, and no more than half of it besides calls."""
    core = CPU.estimate_cost(product(4096), ONE)
    peak = 4096 * 512 * 512 / (2 * 16) / 4.1e9
    assert peak < core < 1.5 * peak
    assert cost(product(8192)) == pytest.approx(2 * core, rel=0.05)


def test_targets_threads_and_types_count() -> None:
    op = product(4096)
    assert cost(op, target="cortex-a72") > 5 * cost(op, target="znver5")
    assert cost(op, threads=2) == pytest.approx(cost(op) / 2, rel=0.1)
    assert cost(product(1, 8, 8), threads=2) == cost(product(1, 8, 8))
    assert cost(product(4096, element="bf16")) < 0.6 * cost(op)


def test_threads_share_what_memory_sends(tmp_path: Path) -> None:
    """One row waits for its weights: two threads gain nothing where one takes all that there is."""
    core = CORES["zen5"]
    half = {"contended_memory_bytes_per_cycle": core.memory_bytes_per_cycle / 2}
    (path := tmp_path / "core.json").write_text(core_text("znver5", core, half))
    op = product(1, 4096, 4096)
    assert cost(op, threads=2) == pytest.approx(cost(op) / 2, rel=0.1)
    narrow = cost(op, threads=2, target_core=path)
    assert narrow == pytest.approx(cost(op), rel=0.1)
    assert cost(op, target_core=path) == cost(op)


def test_algorithms_count() -> None:
    """Winograd's is what numerics allow."""
    text = "%w = glow.constant dense<1.0> : tensor<256x256x3x3xf32>\n"
    text += "%y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x256x56x56xf32>"
    op = node(text, "%x: tensor<1x256x56x56xf32>")
    assert cost(op) < 0.6 * cost(op, numerics="exact")


def test_epilogues_cost_less_than_nodes_of_their_own() -> None:
    alone = node(
        "%y = glow.relu %x : tensor<1024x1024xf32>", "%x: tensor<1024x1024xf32>"
    )
    text = "%p = glow.matmul %x, %x : tensor<1024x1024xf32>\n"
    fused = node(
        f"{text}%y = glow.relu %p : tensor<1024x1024xf32>", "%x: tensor<1024x1024xf32>"
    )
    assert isinstance(fused, glow.ReluOp)
    assert cost(fused) < cost(alone) / 10


def test_unknown_nodes_and_other_backends_say_so() -> None:
    module = load(ROOT / "docs" / "small.mlir")
    function = main_function(lower_to(module, GRAPH))
    found = {op.name: CPU.estimate_cost(op, ONE) for op in function.walk()}
    assert found["func.return"] is None
    assert found["glow.conv2d"] > 0
    interpreter = get_backend("interpreter")
    assert interpreter.estimate_cost(product(2)) is None
    assert CPU.estimate_cost(product(2)) > 0, "the host, on one thread"


def test_the_worst_cut_is_found() -> None:
    parts = [Part("a", 1.0, 1.0), Part("b", 3.0, 1.0), Part("c", 2.0, 2.0)]
    worst = worst_cut(parts)
    assert (worst.name, worst.half) == ("b", 2.0)
    assert worst.share == pytest.approx(1 / 6)
    small = [Part("a", 9.0, 0.01), Part("b", 1.0, 1.0)]
    assert worst_cut(small).name == "nowhere"
    joined = compare([("a", 1.0), ("b", 2.0)], [("?", 3.0), ("b", 1.0), ("??", 1.0)])
    assert [(p.name, p.measured) for p in joined] == [("a", 3.0), ("b", 2.0)]
    assert np.isfinite([p.estimated for p in joined]).all()
