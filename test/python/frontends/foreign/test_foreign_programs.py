"""Programs of other tools give what the tools give, on both backends.

StableHLO, TOSA and linalg from torch-mlir (torch 2.13), in the syntax of LLVM 22; quantized TOSA
by hand in both syntaxes, with IREE's results.
"""

from pathlib import Path

import numpy as np
import pytest

import glow

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path):
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[n] for n in arrays if n.startswith("input")]
        expected = [arrays[n] for n in arrays if n.startswith("output")]
    for backend in ("interpreter", "cpu"):
        found = glow.compile(path, backend=backend)(*inputs)
        found = found if isinstance(found, tuple) else (found,)
        for one, wanted in zip(found, expected, strict=True):
            assert one.dtype == wanted.dtype
            if one.dtype.kind == "f":
                size = np.abs(wanted).max()
                np.testing.assert_allclose(one, wanted, rtol=0, atol=2e-6 * size)
            else:
                np.testing.assert_array_equal(one, wanted)


def test_there_are_programs():
    assert len(PROGRAMS) >= 4
