"""Programs that JAX has written give what JAX gives, on both backends (`make_programs.py`)."""

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
        for number, (one, wanted) in enumerate(zip(found, expected, strict=True)):
            assert one.dtype == wanted.dtype, number
            if one.dtype.kind == "f":
                size = np.abs(wanted).max()
                np.testing.assert_allclose(
                    one, wanted, rtol=2e-6, atol=2e-6 * size, err_msg=str(number)
                )
            else:
                np.testing.assert_array_equal(one, wanted, str(number))


def test_there_are_programs():
    assert len(PROGRAMS) >= 10
