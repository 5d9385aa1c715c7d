"""Where the helpers of the tests are."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "test" / "python"
FOLDERS = (Path(__file__).parent, TESTS, ROOT)
sys.path[:0] = [str(folder) for folder in FOLDERS]
