"""Kernels that differ in numbers become one function, and compute what they did."""

from __future__ import annotations

import re

import numpy as np
import pytest

from glow.bundles.emulation import Emulator
from glow.bundles.merge_kernels import merge_kernels
from glow.lowering.target.target import Target
from glow.runtime.native_code import compile_object

KERNEL = """define void @{name}(ptr %v0, i32 %v1) nounwind {{
b0:
  br label %b1
b1:
  %v2 = phi i32 [0, %b0], [%v3, %b1]
  %v3 = add i32 %v2, 1
  %v4 = mul i32 %v2, {stride}
  %v5 = getelementptr i8, ptr %v0, i32 %v4
  %v6 = getelementptr i8, ptr %v5, i64 {offset}
  %v7 = load i32, ptr %v6, align 4
  %v8 = mul i32 %v7, {factor}
  %v9 = call i32 @llvm.smin.i32(i32 {limit}, i32 %v8)
  %v10 = add i32 %v9, 7
  %v11 = udiv i32 %v10, {factor}
  store i32 %v11, ptr %v6, align 4
  %v12 = icmp slt i32 %v3, {trips}
  br i1 %v12, label %b1, label %b2
b2:
  ret void
}}
"""

MAIN = """define void @net(ptr %v0) nounwind {
b0:
  call void @one(ptr %v0, i32 0)
  call void @two(ptr %v0, i32 0)
  call void @three(ptr %v0, i32 0)
  ret void
}
declare i32 @llvm.smin.i32(i32, i32)
"""


def kernel(name: str, *numbers: int) -> str:
    keys = "stride", "offset", "factor", "limit", "trips"
    return KERNEL.format(name=name, **dict(zip(keys, numbers, strict=True)))


TEXT = "".join(
    [
        kernel("one", 4, 4, 3, 90, 5),
        kernel("two", 8, 8, 3, 50, 3),
        kernel("three", 4, 12, 5, 70, 4).replace("mul i32 %v7", "xor i32 %v7"),
        MAIN,
    ]
)
"""The third has another instruction."""


def test_numbers_become_arguments() -> None:
    merged = merge_kernels(TEXT)
    assert re.findall(r"define void @(\w+)", merged) == ["one", "three", "net"]
    # Strides and offsets are equal in each, and the factor is in both.
    assert "@one(ptr %v0, i32 %v1, i32 %n0, i32 %n1, i32 %n2)" in merged
    assert "%v8 = mul i32 %v7, 3" in merged
    assert "call void @one(ptr %v0, i32 0, i32 4, i32 90, i32 5)" in merged
    assert "call void @one(ptr %v0, i32 0, i32 8, i32 50, i32 3)" in merged
    assert "call void @three(ptr %v0, i32 0)" in merged


def test_results_stay() -> None:
    pytest.importorskip("unicorn", reason="Unicorn is not installed")
    target = Target.from_string("cortex-m4")
    results: list[np.ndarray] = []
    for text in (TEXT, merge_kernels(TEXT)):
        data = np.arange(64, dtype=np.int32)
        Emulator(compile_object(text, target), target).call(
            "net", [data.view(np.uint8)]
        )
        results.append(data)
    assert (results[0] != np.arange(64)).any()
    np.testing.assert_array_equal(*results)


def test_many_numbers_stay_apart() -> None:
    """A function of few instructions is worth no arguments."""
    short = """define void @{name}(ptr %v0) nounwind {{
  %v1 = getelementptr i8, ptr %v0, i64 {n}
  %v2 = getelementptr i8, ptr %v1, i64 {m}
  store i8 0, ptr %v2, align 1
  ret void
}}
"""
    text = short.format(name="a", n=1, m=5) + short.format(name="b", n=2, m=4)
    assert merge_kernels(text) == text
    assert merge_kernels("") == ""
