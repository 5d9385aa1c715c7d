"""The budget for the memory of transformed weights, from everywhere it can be given."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from places import ROOT

import glow
from glow.backends.cpu.layout.choose_packer import packer_of
from glow.backends.cpu.layout.winograd import budget as winograd
from glow.bundles.build import build_bundle
from glow.bundles.bundle import BundleSettings
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.tools.glow import run_glow

SMALL = ROOT / "docs" / "small.mlir"
CHANNELS = 1024
"""Their weights take 36 MB, and 144 when they are transformed: more than is always free."""
SHIPPED_CHANNELS = 384
"""5 and 20 MB: more than is free in files for other machines."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution of 3 x 3 with many weights."""
    return model_of(CHANNELS, tmp_path)


def model_of(channels: int, tmp_path: Path) -> Path:
    """A convolution of 3 x 3 from so many channels to as many."""
    weights = np.ones((channels, channels, 3, 3), np.float32)
    shape = [1, channels, 14, 14]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "model.onnx"
    opset = helper.make_opsetid("", 20)
    save(helper.make_model(graph, opset_imports=[opset], ir_version=10), str(path))
    return path


def is_transformed(text: str) -> bool:
    """Whether a lowered program has the transformed convolution."""
    assert "cpu.winograd_conv2d" in text or "cpu.conv2d" in text
    return "cpu.winograd_conv2d" in text


@pytest.mark.parametrize(("growth", "expected"), [(0, False), (0.5, False), (4, True)])
def test_the_budget_decides(
    growth: float, expected: bool, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load(model)
    lower_to(module, "lowered", target="avx512", weight_growth=growth)
    assert is_transformed(str(module)) == expected
    options = ["--emit=lowered", "--target-cpu=avx512", f"--weight-growth={growth}"]
    run_glow(["compile", str(model), *options, "-o", os.devnull])
    run_glow(["compile", str(model), *options])
    assert is_transformed(capsys.readouterr().out) == expected


@pytest.mark.parametrize(("free", "expected"), [(10, False), (12, True)])
def test_the_budget_decides_for_bytes(
    free: int, expected: bool, tmp_path: Path
) -> None:
    """Transformed weights of 700 channels take 11 MB more."""
    path = tmp_path / "bytes.mlir"
    path.write_text(
        """
        func.func @main(%x: tensor<1x700x28x28xui8>) -> tensor<1x700x28x28xi32> {
          %w = glow.splat 1 : tensor<700x700x3x3xi8>
          %z = glow.constant dense<3> : tensor<ui8>
          %p = glow.constant dense<0> : tensor<i8>
          %y = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1]
            : tensor<1x700x28x28xi32>
          func.return %y : tensor<1x700x28x28xi32>
        }
        """
    )
    module = load(path)
    packer = packer_of(module, Target.from_string("wasm-simd"))
    growth = winograd.WeightGrowth(0, free << 20)
    assert len(winograd.choose_winograd(module, packer, growth)) == expected


def test_less_is_free_in_bundles(tmp_path: Path) -> None:
    path = model_of(SHIPPED_CHANNELS, tmp_path)
    module, options = load(path), CompileOptions(target="avx512")
    bundle = build_bundle({"main": load(path)}, options, BundleSettings("net"))
    lower_to(module, "lowered", target="avx512")
    assert is_transformed(str(module))
    assert len(bundle.constants.data) < 8 << 20


@pytest.mark.parametrize(
    ("growth", "message"),
    [
        (-0.5, "must not be negative: -0.5"),
        (float("nan"), "must be finite, not nan"),
        (float("inf"), "must be finite, not inf"),
        ("1", "must be a number, not '1'"),
        (None, "must be a number, not None"),
        (True, "must be a number, not True"),
    ],
)
def test_budgets_that_are_refused(growth: float, message: str) -> None:
    for refuse in (glow.compile, lambda path, **o: lower_to(load(path), "graph", **o)):
        with pytest.raises(GlowError, match=f"weight_growth {message}"):
            refuse(SMALL, weight_growth=growth)


@pytest.mark.parametrize("command", ["run", "compile", "report"])
def test_commands_take_it(command: str, tmp_path: Path) -> None:
    rest = [] if command == "run" else ["-o", str(tmp_path / "out")]
    run_glow([command, str(SMALL), "--weight-growth=0.25", *rest])
    for wrong, message in (("-1", "-1 is less than 0"), ("nan", "a finite number")):
        with pytest.raises(GlowError, match=message):
            run_glow([command, str(SMALL), f"--weight-growth={wrong}", *rest])


def test_the_cache_of_models_tells_budgets_apart(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "100")
    from glow.compilation import find_source
    from glow.options import CompileOptions

    keys = {
        source.key
        for growth in (0.0, 1.0, 4.0)
        if (source := find_source(model, CompileOptions(weight_growth=growth)))
    }
    assert len(keys) == 3
