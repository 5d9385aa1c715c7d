"""Writes the text of networks at every level; run by itself, checks all networks.

`python test/fuzz/text_networks.py` takes those of the benchmarks and the examples;
`test_text_networks.py` takes the small ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import glow  # noqa: E402
from benchmarks.networks import NETWORKS, TINY_NETWORKS, make_inputs  # noqa: E402
from glow.compiler import load, lower_to  # noqa: E402
from glow.dialects.printer import mlir_text  # noqa: E402
from glow.frontends.sidecar import has_weights, save_sidecar, sidecar_of  # noqa: E402

Model = onnx.ModelProto

EXAMPLES = ("digits", "mlp", "depthwise")
MODELS: dict[str, Callable[[], Model]] = {
    **{f"{name}_full": build for name, build in NETWORKS.items()},
    **TINY_NETWORKS,
    **{
        name: partial(onnx.load, ROOT / "examples" / "digits" / f"{name}.onnx")
        for name in EXAMPLES
    },
}
LEVELS = ("import", "graph", "lowered", "instr", "loops")
RUNNING = LEVELS[:-1]
"""The levels whose programs hold their weights and run."""
FORMS = {
    "custom": {},
    "generic": {"generic": True},
    "locations": {"locations": True},
    "generic-locations": {"generic": True, "locations": True},
}
REREAD = Path(__file__).with_name("reread.py")


def write_texts(name: str, folder: Path) -> list[Path]:
    """Write a network in every form and level, with its weights; the files."""
    module, files = load(MODELS[name]()), list[Path]()
    for level in LEVELS:
        if level != "import":
            lower_to(module, level)
        program = folder / f"{name}.{level}.mlir"
        if has_weights(module):
            sidecar = sidecar_of(program)
            save_sidecar(module, sidecar, sidecar.name)
        for form, options in FORMS.items():
            file = program.with_suffix(f".{form}.mlir")
            file.write_text(mlir_text(module, **options), encoding="utf-8")
            files.append(file)
    return files


def check_stable(files: Sequence[Path]) -> None:
    """Fail unless a fresh process reads each file and prints its bytes."""
    command = [sys.executable, REREAD, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again: dict[str, str] = json.loads(done.stdout)
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        assert again[str(file)] == content, f"{file.name} is printed in another way"


def check_results(name: str, folder: Path) -> None:
    """Fail unless the texts compute what the network does, bit for bit."""
    model = MODELS[name]()
    inputs = make_inputs(model, seed=1)
    expected = glow.compile(model).run(inputs)
    for level in RUNNING:
        found = glow.compile(folder / f"{name}.{level}.custom.mlir").run(inputs)
        assert found.keys() == expected.keys(), level
        for output, array in expected.items():
            np.testing.assert_array_equal(found[output], array, err_msg=level)


def check_network(name: str, folder: Path) -> None:
    """All checks of one network."""
    check_stable(write_texts(name, folder))
    check_results(name, folder)


def main() -> int:
    """Check networks; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=sorted(MODELS))
    failures = 0
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check_network(name, Path(folder))
                print(f"text of {name}: the same in {len(LEVELS)} levels", flush=True)
            except AssertionError as error:
                failures += 1
                print(f"text of {name}: {' '.join(str(error).split())[:600]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
