"""Where the helpers of the tests are."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "python"
sys.path[:0] = [str(Path(__file__).parent), str(TESTS), str(TESTS / "support")]
