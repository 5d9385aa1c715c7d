"""Lets the tests import `benchmarks` and `examples`, which are not installed."""

import sys
from pathlib import Path

# First, because xDSL 0.74 installs a `benchmarks` of its own.
sys.path.insert(0, str(Path(__file__).parents[2]))
