"""The text of networks at every level: stable, and the same code and bits as in one go.

Each level is printed in every form, read by a fresh process and printed again; and it is
compiled, by another process, for this machine and two others. It is a part of `make fuzz`;
slices are `test_network_texts.py` and `test_level_texts.py`.
`PYTHONPATH=.:test/python python test/python/support/programs/network_texts.py` takes all
networks, or those it is given.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto
from support.programs.all_networks import chosen
from support.programs.level_texts import (
    differences,
    read_in_fresh_process,
    write_levels,
)

import glow
from benchmarks.networks import make_inputs
from glow.compiler import load, lower_to
from glow.dialects.printer import mlir_text
from glow.frontends.sidecar import has_weights, save_sidecar, sidecar_of

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


def write_texts(name: str, model: ModelProto, folder: Path) -> list[Path]:
    """Write a network in every form and level, with its weights; the files."""
    module, files = load(model), list[Path]()
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


def check_results(name: str, model: ModelProto, folder: Path) -> None:
    """Fail unless the texts compute what the network does, bit for bit."""
    inputs = make_inputs(model, seed=1)
    expected = glow.compile(model).run(inputs)
    for level in RUNNING:
        found = glow.compile(folder / f"{name}.{level}.custom.mlir").run(inputs)
        assert found.keys() == expected.keys(), level
        for output, array in expected.items():
            np.testing.assert_array_equal(found[output], array, err_msg=level)


def check_code(name: str, model: ModelProto, folder: Path) -> None:
    """Fail unless the texts make the object files of the network, for all targets."""
    path, inputs = folder / f"{name}.onnx", make_inputs(model)
    onnx.save(model, str(path))
    np.savez(folder / f"{name}.inputs.npz", **inputs)
    write_levels(path, folder, {})
    read_in_fresh_process(folder, "obj")
    found = list(differences(path, folder, inputs, "obj", {}))
    assert not found, "; ".join(found)


def check_texts(name: str, model: ModelProto, folder: Path) -> None:
    """The checks of one network on this machine."""
    check_stable(write_texts(name, model, folder))
    check_results(name, model, folder)


def main() -> int:
    """Check networks; 1 if one fails."""
    failures = 0
    for name, build in chosen(sys.argv[1:]).items():
        with (
            tempfile.TemporaryDirectory() as texts,
            tempfile.TemporaryDirectory() as code,
        ):
            try:
                check_texts(name, build(), Path(texts))
                check_code(name, build(), Path(code))
                print(f"text of {name}: the same in {len(LEVELS)} levels", flush=True)
            except AssertionError as error:
                failures += 1
                print(f"text of {name}: {' '.join(str(error).split())[:600]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
