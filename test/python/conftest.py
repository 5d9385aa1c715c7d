"""Lets the tests import `benchmarks` and `examples`, which are not installed.

Nothing is taken from the cache of models but by its own tests: others change the compiler.
"""

import os
import sys
from pathlib import Path

# First, because xDSL 0.74 installs a `benchmarks` of its own.
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["GLOW_MODEL_CACHE_MB"] = "0"
