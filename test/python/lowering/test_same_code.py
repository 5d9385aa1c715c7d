"""The code of a network depends on the network and the target, and on nothing of the process.

Objects of kernels are cached by their LLVM IR, and results of two compilations are compared bit
for bit; neither may depend on the seed of hashes, on what was compiled before or on what is
remembered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from places import ROOT, TESTS
from support.programs.code_digests import CASES

SCRIPT = ROOT / "test" / "python" / "support" / "programs" / "code_digests.py"
PATHS = os.pathsep.join(map(str, (ROOT, TESTS / "python")))


def code_of_process(file: Path, seed: int, *flags: str) -> dict[str, str]:
    """The LLVM IR of the networks as a new Python makes it."""
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": PATHS}
    command = [sys.executable, "-W", "ignore", str(SCRIPT), str(file), *flags]
    subprocess.run(command, check=True, env=environment)
    return json.loads(file.read_text(encoding="utf-8"))


def test_processes_make_the_same_code(tmp_path: Path) -> None:
    """With caches, and without them in the reverse order and with another seed."""
    codes = code_of_process(tmp_path / "one.json", 1)
    others = code_of_process(tmp_path / "other.json", 2, "--without-caches")
    assert codes.keys() == others.keys() == CASES.keys()
    different = [name for name, code in codes.items() if code != others[name]]
    assert not different, f"other code for {', '.join(different)}"
