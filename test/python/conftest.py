"""Lets the tests import `benchmarks` and `examples`, which are not installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
