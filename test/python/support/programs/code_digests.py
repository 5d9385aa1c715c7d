"""The code of a few networks as a Python process makes it: `test_same_code.py` compares them.

`python code_digests.py FILE [--without-caches]` compiles them, in the reverse order without
caches, and writes the LLVM IR of each as JSON. Without caches all equal types, attributes and
specifications are objects of their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = "x86-64-v4"
CASES: dict[str, dict[str, Any]] = {
    "tiny_lstm": {},
    "digits": {},
    "mlp": {"quantize": True},
    "depthwise": {"quantize": True},
    "tiny_bert": {},
}
"""Networks, and the options of their compilation."""


def forget_everything() -> None:
    """Make the functions of this process that remember results compute them anew."""
    module = ModuleType("glow.dialects.bounded_cache")
    for decorator in ("bounded_cache", "identity_cache"):
        vars(module)[decorator] = lambda function: function
    sys.modules[module.__name__] = module


def main() -> None:
    """Write the file."""
    file, *flags = sys.argv[1:]
    if flags:
        forget_everything()
    # After that, as decorators run with the imports.
    from support.programs.all_networks import CHEAP

    from glow.compiler import load, lower_to

    cases = list(CASES.items())
    codes = {
        name: lower_to(load(CHEAP[name]()), "llvm", target=TARGET, **options)
        for name, options in (reversed(cases) if flags else cases)
    }
    Path(file).write_text(json.dumps(codes, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
