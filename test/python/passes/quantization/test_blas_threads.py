"""Matrix products of a calibration use one thread, and others what they used before."""

import numpy as np
import pytest

from glow.passes.quantization.profiling import blas_threads
from glow.passes.quantization.profiling.blas_threads import products_on_one_thread


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A library that uses three threads."""
    threads = [3]

    def read() -> int:
        return threads[-1]

    monkeypatch.setattr(
        blas_threads, "_thread_functions", lambda: (read, threads.append)
    )
    return threads


def test_one_thread_within(library: list[int]) -> None:
    with products_on_one_thread():
        assert library[-1] == 1
        with products_on_one_thread():
            assert library[-1] == 1
        assert library[-1] == 1
    assert library[-1] == 3


def test_restored_after_errors(library: list[int]) -> None:
    with pytest.raises(KeyError), products_on_one_thread():
        raise KeyError
    assert library[-1] == 3


def test_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "_thread_functions", lambda: None)
    with products_on_one_thread():
        assert (np.eye(2) @ np.eye(2) == np.eye(2)).all()


def test_library_of_numpy() -> None:
    functions = blas_threads._thread_functions()  # pyright: ignore[reportPrivateUsage]
    if functions is None:
        pytest.skip("NumPy has no OpenBLAS here")
    before = functions[0]()
    with products_on_one_thread():
        assert functions[0]() == 1
    assert functions[0]() == before
