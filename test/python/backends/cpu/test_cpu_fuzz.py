"""Random nodes of all element types on the CPU, between unreadable pages.

The interpreter says what is right; a read or write outside of the segments of a model
faults. More seeds: `random_nodes.random_example(seed)`.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import guarded
from support.nodes.differential import assert_all_close
from support.nodes.random_nodes import random_example, tolerance
from xdsl.utils.exceptions import VerifyException

from glow.backends.cpu import native_function
from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.interpreter import run
from glow.runtime import executable

SEEDS = range(240)
PARTS = 8


def check(seed: int) -> bool:
    """Compare the two backends on a seed's example; False where there is none."""
    try:
        example = random_example(seed)
        module = example.module()
        with np.errstate(all="ignore"):
            expected = run(module, example.inputs)
    except (VerifyException, GlowError):
        return False
    results = compile(module, threads=1)(*example.inputs)
    actual = results if isinstance(results, tuple) else (results,)
    try:
        assert_all_close(actual, expected, tolerance([*example.inputs, *expected]))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {example.name}: {error}") from error
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_random_nodes(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU takes whatever the interpreter takes, and computes the same."""

    def guarded_bytes(size: int) -> np.ndarray:
        return guarded(np.zeros(size, np.uint8))

    for module in (executable, native_function):
        monkeypatch.setattr(module, "aligned_empty", guarded_bytes)
    checked = [check(seed) for seed in SEEDS[part::PARTS]]
    assert sum(checked) > len(checked) / 2
