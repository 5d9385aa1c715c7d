"""Texts of all levels of all benchmark networks, read by fresh processes.

`PYTHONPATH=. python test/python/support/all_level_texts.py [NAME ...]` prints the levels of each
network for this machine and two others, compiles the texts in a new process, and compares object
files and outputs with those of compiling in one go. It is a part of `make fuzz`; a slice is
`test_level_texts.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from level_texts import differences, read_in_fresh_process, write_levels
from places import ROOT

from benchmarks.networks import NETWORKS, QUANTIZED_NETWORKS, make_inputs

DIGITS = ROOT / "examples" / "digits"
EXAMPLES = {
    path.stem: partial(onnx.load, path) for path in sorted(DIGITS.glob("*.onnx"))
}
MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    **EXAMPLES,
    **NETWORKS,
    **QUANTIZED_NETWORKS,
}


def check(name: str, folder: Path) -> list[str]:
    """What differs for a network."""
    model, path = MODELS[name](), folder / f"{name}.onnx"
    inputs = make_inputs(model)
    np.savez(folder / f"{name}.inputs.npz", **inputs)
    onnx.save(model, str(path))
    write_levels(path, folder, {})
    read_in_fresh_process(folder, "obj")
    return list(differences(path, folder, inputs, "obj", {}))


def main() -> int:
    """Check the networks that are named, or all; 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    wrong = 0
    for name in parser.parse_args().names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            found = check(name, Path(folder))
        print(f"{name}: {'; '.join(found) or 'equal'}", flush=True)
        wrong += len(found)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
