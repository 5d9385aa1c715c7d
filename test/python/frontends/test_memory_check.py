"""Networks that do not fit into memory end in one line, before anything is made."""

from pathlib import Path

import numpy as np
import pytest
from support.onnx_models.onnx_testing import (
    check_with_runtime,
    make_model,
    node,
    random,
)

from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.runtime import memory

SIDES = np.array([2**19, 2**19])
"""A square of 2^38 elements: a tebibyte of f32."""

NONE = np.zeros(0, np.float32)

NUMBER = [node("ReduceMax", "r", "n", keepdims=0), node("Add", "n x")]

HUGE = {
    "folded": ([node("ConstantOfShape", "s", "r"), *NUMBER], {"s": SIDES}),
    "bools": (
        [node("ConstantOfShape", "s", "c"), node("Cast", "c", "b", to=9),
         node("Not", "b", "m"), node("Cast", "m", "r", to=1), *NUMBER],
        {"s": SIDES},
    ),
    "quantized": (
        [node("ConstantOfShape", "s", "c"), node("QuantizeLinear", "c t z", "q"),
         node("DequantizeLinear", "q t z", "r"), *NUMBER],
        {"s": SIDES, "t": np.array(0.1, np.float32), "z": np.array(0, np.uint8)},
    ),
    "products": (
        [node("ConstantOfShape", "s", "c"), node("MatMul", "c c", "r"), *NUMBER],
        {"s": SIDES},
    ),
    "Expand": ([node("Expand", "x s")], {"s": SIDES}),
    "Tile": ([node("Tile", "x s")], {"s": SIDES}),
    "ConstantOfShape": ([node("ConstantOfShape", "s", "c"), node("Add", "c x")], {"s": SIDES}),
    "OneHot": (
        [node("Cast", "x", "i", to=7), node("OneHot", "i d v")],
        {"d": np.array(2**20), "v": np.array([0, 1], np.float32)},
    ),
    "Pad": ([node("Pad", "x p")], {"p": np.array([0, 0, *SIDES])}),
    "Trilu": ([node("Expand", "x s", "e"), node("Trilu", "e")], {"s": SIDES}),
    "EyeLike": ([node("Expand", "x s", "e"), node("EyeLike", "e")], {"s": SIDES}),
    "Resize": ([node("Resize", "x n n s", mode="linear")], {"n": NONE, "s": SIDES}),
    "between": (
        [node("Expand", "x s", "e"), node("Softmax", "e", "t", axis=0),
         node("ReduceMax", "t", "y")],
        {"s": SIDES},
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", HUGE)
def test_absurd_sizes(name, backend):
    nodes, weights = HUGE[name]
    shape = (2**18, 1) if name == "OneHot" else (1, 1)
    model = make_model(nodes, [("x", shape)], weights=weights)
    with pytest.raises(GlowError) as caught:
        compile(model, backend=backend)
    line = caught.value.one_line()
    assert "\n" not in line
    assert ("GiB of memory" in line) != (name == "EyeLike")


def test_plan_is_compared_with_the_memory_there_is(monkeypatch):
    nodes = [node("Exp", "x", "t"), node("Softmax", "t", "u"), node("MatMul", "u w")]
    model = make_model(nodes, [("x", [64, 64])], weights={"w": random(64, 64)})
    monkeypatch.setattr(memory, "memory_bytes", lambda: 40 << 10)
    with pytest.raises(GlowError, match=r"needs 0.0 GiB of memory .*for weights"):
        compile(model)
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1 << 20)
    assert compile(model)
    monkeypatch.setattr(memory, "memory_bytes", lambda: None)
    assert compile(model)


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/a/b\n", {"memory.max": "max", "a/memory.max": "512"}, [512]),
        ("0::/gone/host/path\n", {"memory.max": "1024"}, [1024]),
        ("3:cpu,memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "256"}, [256]),
        ("what\n", {}, []),
    ],
)
def test_limits_of_control_groups(tmp_path: Path, groups, limits, expected):
    (tmp_path / "groups").write_text(groups)
    for name, text in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert [*memory.control_group_limits(tmp_path / "groups", tmp_path)] == expected
    assert not [*memory.control_group_limits(tmp_path / "none", tmp_path)]


def test_memory_of_this_machine():
    found = memory.memory_bytes()
    assert found is None or found > 1 << 28


@pytest.mark.parametrize("repeats", [(2, 65), (129, 1), (1, 2 * 64 + 3)])
def test_many_repeats(repeats):
    model = make_model(
        [node("Tile", "x r")], [("x", [2, 3])], weights={"r": np.array(repeats)}
    )
    check_with_runtime(model, random(2, 3))


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 9])
def test_triangles(upper, offset, monkeypatch):
    proto = node("Trilu", "x k", upper=upper)
    model = make_model([proto], [("x", [4, 6])], weights={"k": np.array(offset)})
    check_with_runtime(model, random(4, 6))
    monkeypatch.setattr("glow.frontends.onnx.operators.shapes.BUDGET", 20)
    check_with_runtime(model, random(4, 6))
