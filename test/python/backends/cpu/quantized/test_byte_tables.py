"""Functions of bytes are tables, looked up by shuffles, permutations or loads."""

from __future__ import annotations

import numpy as np
import pytest

from glow.compiler import compile, lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.target.target import host_target
from glow.universe import new_context

RANDOM = np.random.default_rng(0)

LOOK_UP = """
func.func @main(%x: tensor<1x{count}x{kind}>) -> tensor<1x{count}xui8> {{
  %t = glow.constant dense<{table}> : tensor<256xui8>
  %0 = glow.gather %t, %x axis 0 : tensor<1x{count}xui8>
  func.return %0 : tensor<1x{count}xui8>
}}
"""
TARGETS = [
    "host", "host_without-avx512vbmi", "avx512", "avx2", "avx2_with-size", "scalar",
]  # fmt: skip


def runs(target: str) -> bool:
    """Whether this machine has what a target needs."""
    from glow.lowering.target.target import Target

    return Target.from_string(target).runs_on(host_target())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [1, 31, 64, 100, 257, 5001])
def test_every_byte_is_looked_up(count: int, target: str) -> None:
    """The interpreter's bytes, also of indices with a sign, whose bits count without one."""
    if not runs(target):
        pytest.skip("this machine has other instructions")
    table = RANDOM.integers(0, 256, 256).tolist()
    for kind, dtype in (("ui8", np.uint8), ("i8", np.int8)):
        text = LOOK_UP.format(count=count, table=table, kind=kind)
        module = parse_text(new_context(), text, "table")
        x = RANDOM.permuted(np.resize(np.arange(256), count)).astype(dtype)[None]
        (expected,) = run(module, [x])
        for threads in (1, 2):
            found = compile(module.clone(), threads=threads, target=target)(x)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("target", "name"),
    [("avx2", "vpshufb"), ("avx512", "vpshufb"), ("avx512_with-avx512vbmi", "2b\t")],
)
def test_instructions(target: str, name: str) -> None:
    """Shuffles of bytes, or permutations, whatever machine this is."""
    text = LOOK_UP.format(count=256, table=[*range(256)], kind="ui8")
    module = parse_text(new_context(), text, "table")
    assembly = lower_to(module, "asm", target=target)
    assert isinstance(assembly, str)
    assert name in assembly
