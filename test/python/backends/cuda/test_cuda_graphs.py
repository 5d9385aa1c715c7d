"""Graphs of a node or two, whole, by the kernels that they choose: each family that networks have.

Each has no kernel of slices, unless it says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.gpu.simulated_networks import compare


class Graph(NamedTuple):
    """A body of nodes on `%x`, ..., the types of inputs and result, and its kernels."""

    inputs: dict[str, str]
    nodes: str
    result: str
    wanted: set[str]
    tolerance: float = 1e-5
    options: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """The graph; nodes name the result `%r`."""
        arguments = ", ".join(f"%{n}: tensor<{t}>" for n, t in self.inputs.items())
        return (
            f"func.func @main({arguments}) -> tensor<{self.result}> {{\n"
            f"{self.nodes}\n  func.return %r : tensor<{self.result}>\n}}\n"
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Random inputs."""
        random, made = np.random.default_rng(0), dict[str, np.ndarray]()
        dtypes = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
        for name, type_ in self.inputs.items():
            *shape, element = type_.split("x")
            sizes = tuple(map(int, shape))
            if element in dtypes:
                made[name] = random.standard_normal(sizes).astype(dtypes[element])
            else:
                made[name] = random.integers(-5, 5, sizes).astype(np.int64)
        return made


def constant(name: str, *shape: int, element: str = "f32") -> str:
    """A constant of multiples of 1/8, which all floats hold."""
    random = np.random.default_rng(sum(shape))
    values = (random.integers(-16, 17, shape) / 8).tolist()
    sizes = "".join(f"{extent}x" for extent in shape)
    return f"  %{name} = glow.constant dense<{values}> : tensor<{sizes}{element}>\n"


WINDOWS: dict[str, Graph] = {
    "max pool": Graph(
        {"x": "1x8x9x9xf32"},
        "  %r = glow.max_pool2d %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]"
        " : tensor<1x8x5x5xf32>",
        "1x8x5x5xf32",
        {"windows"},
    ),
    "average pool": Graph(
        {"x": "2x6x9x8xf32"},
        "  %r = glow.avg_pool2d %x kernel [2, 3] strides [2, 1] pads [0, 1, 1, 1]"
        " : tensor<2x6x5x8xf32>",
        "2x6x5x8xf32",
        {"windows"},
    ),
    "depthwise": Graph(
        {"x": "1x8x9x9xf32"},
        constant("w", 8, 1, 3, 3)
        + constant("b", 8)
        + "  %s = glow.conv2d %x, %w, %b strides [2, 1] pads [1, 1, 1, 1] group 8"
        " : tensor<1x8x5x9xf32>\n  %r = glow.relu %s : tensor<1x8x5x9xf32>",
        "1x8x5x9xf32",
        {"windows"},
    ),
    "groups in a block": Graph(
        {"x": "1x8x6x6xf32"},
        constant("w", 8, 2, 3, 3)
        + "  %r = glow.conv2d %x, %w pads [1, 1, 1, 1] group 4 : tensor<1x8x6x6xf32>",
        "1x8x6x6xf32",
        {"windows"},
    ),
}

NORMS: dict[str, Graph] = {
    "response of blocks": Graph(
        {"x": "1x8x6x6xf32"},
        constant("w", 8, 8, 1, 1) + "  %c = glow.conv2d %x, %w : tensor<1x8x6x6xf32>\n"
        "  %r = glow.local_response_norm %c size 5 : tensor<1x8x6x6xf32>",
        "1x8x6x6xf32",
        {"channel_norm"},
    ),
    "response of planes": Graph(
        {"x": "2x7x5x3xf32"},
        "  %r = glow.local_response_norm %x size 4 : tensor<2x7x5x3xf32>",
        "2x7x5x3xf32",
        {"channel_norm"},
    ),
}

ELEMENTS: dict[str, Graph] = {
    "fused": Graph(
        {"x": "3x20xf32", "y": "20xf32"},
        "  %a = glow.mul %x, %y : tensor<3x20xf32>\n"
        "  %e = glow.exp %a : tensor<3x20xf32>\n"
        "  %r = glow.add %e, %x : tensor<3x20xf32>",
        "3x20xf32",
        {"elementwise"},
    ),
}

MOVEMENT: dict[str, Graph] = {
    "lookup": Graph(
        {"x": "6x8xf32", "i": "2x3xi64"},
        "  %r = glow.gather %x, %i axis 0 : tensor<2x3x8xf32>",
        "2x3x8xf32",
        {"gather"},
        0.0,
    ),
    "lookup of columns": Graph(
        {"x": "3x7xf32", "i": "4xi64"},
        "  %r = glow.gather %x, %i axis 1 : tensor<3x4xf32>",
        "3x4xf32",
        {"gather"},
        0.0,
    ),
    "slice": Graph(
        {"x": "5x9x8xf32"},
        "  %r = glow.slice %x starts [1, 7, 0] sizes [3, 3, 8] steps [1, -2, 1]"
        " : tensor<3x3x8xf32>",
        "3x3x8xf32",
        {"elementwise"},
        0.0,
    ),
    "slice that is not aligned": Graph(
        {"x": "5x12xf32"},
        "  %r = glow.slice %x starts [0, 1] sizes [5, 8] steps [1, 1] : tensor<5x8xf32>",
        "5x8xf32",
        {"elementwise"},
        0.0,
    ),
    "concatenation": Graph(
        {"x": "3x5x4xf32", "y": "3x5x7xf32"},
        "  %r = glow.concat %x, %y axis 2 : tensor<3x5x11xf32>",
        "3x5x11xf32",
        {"elementwise"},
        0.0,
    ),
}

PRODUCTS: dict[str, Graph] = {
    "computed factors": Graph(
        {"x": "2x3x5x16xf32", "y": "2x3x7x16xf32"},
        "  %r = glow.matmul %x, %y transpose_rhs : tensor<2x3x5x7xf32>",
        "2x3x5x7xf32",
        {"contraction"},
    ),
    "heads of one query": Graph(
        {"x": "1x1x3x8xf32", "y": "1x9x3x8xf32"},
        "  %a = glow.transpose %x permutation [0, 2, 1, 3] : tensor<1x3x1x8xf32>\n"
        "  %b = glow.transpose %y permutation [0, 2, 1, 3] : tensor<1x3x9x8xf32>\n"
        "  %p = glow.matmul %a, %b transpose_rhs : tensor<1x3x1x9xf32>\n"
        "  %r = glow.relu %p : tensor<1x3x1x9xf32>",
        "1x3x1x9xf32",
        {"contraction"},
    ),
    "a deep product": Graph(
        {"x": "20x2048xf32", "y": "16x2048xf32"},
        "  %a = glow.matmul %x, %y transpose_rhs : tensor<20x16xf32>\n"
        "  %r = glow.sigmoid %a : tensor<20x16xf32>",
        "20x16xf32",
        {"contraction", "part_sums"},
    ),
    "batches that broadcast": Graph(
        {"x": "2x1x4x6xf32", "y": "3x6x5xf32"},
        "  %r = glow.matmul %x, %y : tensor<2x3x4x5xf32>",
        "2x3x4x5xf32",
        {"contraction"},
    ),
    "groups between blocks": Graph(
        {"x": "2x12x5x5xf32"},
        constant("w", 18, 6, 3, 3)
        + constant("b", 18)
        + "  %s = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] group 2"
        " : tensor<2x18x3x3xf32>\n  %r = glow.relu %s : tensor<2x18x3x3xf32>",
        "2x18x3x3xf32",
        {"contraction"},
    ),
}


def attention(element: str) -> Graph:
    """Heads that lie beside each other, of one element type."""
    shape, moved = f"tensor<1x9x2x16x{element}>", f"tensor<1x2x9x16x{element}>"
    names = "qkv"
    transposed = "".join(
        f"  %{n} = glow.transpose %{n}0 permutation [0, 2, 1, 3] : {moved}\n"
        for n in names
    )
    return Graph(
        {**{f"{n}0": shape[7:-1] for n in names}, "m": f"1x1x9x9x{element}"},
        f"{transposed}  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x9x9x{element}>\n"
        f"  %t = glow.add %s, %m : tensor<1x2x9x9x{element}>\n"
        f"  %p = glow.softmax %t axis 3 : tensor<1x2x9x9x{element}>\n"
        f"  %r = glow.matmul %p, %v : {moved}",
        moved[7:-1],
        {"attention"},
        2e-2 if element == "bf16" else 3e-3,
    )


def half_products(element: str) -> Graph:
    """A convolution and a matmul with constant weights, and a batched one."""
    return Graph(
        {"x": f"1x16x6x6x{element}", "y": f"1x16x36x12x{element}"},
        constant("w", 16, 16, 3, 3, element=element)
        + f"  %c = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x16x6x6x{element}>\n"
        f"  %v = glow.reshape %c : tensor<1x16x1x36x{element}>\n"
        f"  %p = glow.matmul %v, %y : tensor<1x16x1x12x{element}>\n"
        f"  %u = glow.reshape %p : tensor<16x12x{element}>\n"
        + constant("z", 12, 10, element=element)
        + f"  %r = glow.matmul %u, %z : tensor<16x10x{element}>",
        f"16x10x{element}",
        {"contraction"},
        2e-2 if element == "bf16" else 3e-3,
    )


HALVES = {
    **{f"attention of {element}": attention(element) for element in ("bf16", "f16")},
    **{f"products of {element}": half_products(element) for element in ("bf16", "f16")},
}

GRAPHS = {**WINDOWS, **NORMS, **ELEMENTS, **MOVEMENT, **PRODUCTS, **HALVES}
"""By name; what they compute is the interpreter's."""


@pytest.mark.gpu
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_computes_what_the_interpreter_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    graph = GRAPHS[name]
    path = tmp_path / "graph.mlir"
    path.write_text(graph.text)
    compare(
        monkeypatch, path, graph.arrays(), graph.options, graph.tolerance, graph.wanted
    )
