"""Where the tree begins, whatever folder a test lies in."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
"""The folder of all tests, those of lit among them."""

ROOT = TESTS.parent
