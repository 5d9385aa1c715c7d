"""Kernels whose code is the same but for the name go through LLVM once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glow
from glow.backends.cpu import native_code
from glow.lowering.target.target import Target

TEXT = """
func.func @main(%x: tensor<1x6x3x3x8xf32>, %y: tensor<1x4x3x3x8xf32>)
    -> (tensor<1x6x3x3x8xf32>, tensor<1x4x3x3x8xf32>) {
  %a = glow.relu %x : tensor<1x6x3x3x8xf32>
  %b = glow.relu %y : tensor<1x4x3x3x8xf32>
  func.return %a, %b : tensor<1x6x3x3x8xf32>, tensor<1x4x3x3x8xf32>
}
"""
"""Each plane of channel blocks is a work item of one kernel, whatever their number."""


def test_equal_code_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile_object = native_code.compile_object

    def compile_and_count(text: str, target: Target, level: int) -> bytes:
        compiled.append(text)
        return compile_object(text, target, level)

    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(native_code, "compile_object", compile_and_count)
    x, y = (
        np.random.default_rng(0).standard_normal((1, planes, 3, 3, 8), np.float32)
        for planes in (6, 4)
    )
    counts: list[int] = []
    for comment in ("", "// another model of the same kernels\n"):
        (path := tmp_path / "planes.mlir").write_text(comment + TEXT)
        results = glow.compile(path, threads=1)(x, y)
        for value, got in zip((x, y), results, strict=True):
            np.testing.assert_array_equal(got, np.maximum(value, 0))
        counts.append(len(compiled))
    assert len([text for text in compiled if "define void @elementwise" in text]) == 1
    assert counts[0] == counts[1], "each kernel is in the cache"


def test_names_of_other_lengths_are_not_equal() -> None:
    """The table of strings of an object has no room for a longer one."""
    short, longer = (f"define void @{name}()" for name in ("a_1", "bb_1"))
    digest = native_code.nameless_digest
    assert digest("a_1", short) != digest("bb_1", longer)
    assert digest("a_1", short) == digest("b_1", short.replace("a_1", "b_1"))
