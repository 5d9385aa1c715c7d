"""Lets the tests import what is not installed: helpers, tools, `benchmarks`, `examples`.

The folders here are those of the tree, for what is tested; `support/` holds what tests
share, by what it is for (`from support.nodes.differential import ...`). Names of files are unique,
so that `pytest -k` and `test/mutants` find them by it.
Nothing is taken from the cache of models, or from what was tuned, but by their own tests: others
change the compiler.

Test processes share the cores: NumPy's products of matrices take one thread, since those that
wait for the next product spin, a fifth of the tests' time. And nothing is garbage while
tests are collected: modules and tests are a million objects that live to the end, so that no
collection looks at them later, nor at what outlives a test; those collections took a fifth of
the time.

A file's tests run in one process, so that fixtures and examples of the file are made once,
unless they name another group. xdist starts with the files of most tests: what runs last is
short.
"""

import gc
import os
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NEVER = 1_000_000
"""Collections of objects of middle age before one of all objects."""
# First, because xDSL 0.74 installs a `benchmarks` of its own.
sys.path[:0] = [
    str(TESTS.parent),
    *(
        str(TESTS / folder)
        for folder in ("python", "fuzz", "fuzz/serving", "mutants", ".")
    ),
]
os.environ["GLOW_MODEL_CACHE_MB"] = "0"
os.environ["GLOW_TUNING"] = "off"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Read when NumPy is loaded.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--slice` and `--gpu`."""
    text = "of tests with many cases of one kind take some (support/slices.py)"
    parser.addoption("--slice", action="store_true", help=text)
    text = "run kernels of CUDA on a GPU (support/gpu/real_gpu.py), with -m gpu"
    parser.addoption("--gpu", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Open the GPU."""
    if config.getoption("--gpu"):
        from support.gpu.real_gpu import use_gpu

        use_gpu()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Take a slice of the tests; group those of each file for `--dist loadgroup`, before xdist
    reads groups.
    """
    if config.getoption("--slice"):
        from support.slices import left_out

        left = set(left_out(items))
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish() -> None:
    """Collect garbage from the first test on, among the objects of the running test."""
    gc.freeze()  # Moved to the oldest at once, without a look at each.
    gc.set_threshold(50_000, 10, NEVER)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let a test that collects all garbage look at its own objects, not at millions of others."""
    gc.freeze()


def pytest_runtest_teardown() -> None:
    """Free the graphs of a test, before they are as old as what lives to the end."""
    gc.collect(1)
