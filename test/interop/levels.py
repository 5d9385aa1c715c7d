"""Every level of whole networks through mlir-opt, which must read it.

Dialects of our own are unregistered ones; of the loops level it knows all operations.
`python test/interop/levels.py` takes all networks, or those whose names it is given; the small
ones are in `test/python/dialects/test_upstream.py`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from support.programs.all_networks import chosen
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt

from glow.compiler import load, lower_to
from glow.dialects.printer import mlir_text

LEVELS = ("graph", "lowered", "instr", "loops")


def main():
    """Check networks, if mlir-opt is here; 1 if one is refused."""
    if find_mlir_opt() is None:
        print(f"skipped the levels of all networks: {ABSENT}")
        return 0
    failures = [
        name for name, build in chosen(sys.argv[1:]).items() if check(name, build)
    ]
    return 1 if failures else 0


def check(name, build):
    """What upstream says to the levels of a network, None if it reads all."""
    module = load(build())
    for level in LEVELS:
        lower_to(module, level)
        options = () if level == "loops" else ("--allow-unregistered-dialect",)
        try:
            mlir_opt(mlir_text(module, generic=True), *options)
        except AssertionError as error:
            print(f"{name}: mlir-opt refuses {level}: {str(error)[:300]}", flush=True)
            return error
    print(f"{name}: mlir-opt reads {', '.join(LEVELS)}", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
