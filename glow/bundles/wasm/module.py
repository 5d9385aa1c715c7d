"""From a WebAssembly object to the module that engines load.

The module imports nothing. It exports its memory, `NAME` and `NAME_check`, and where free memory
begins (`__heap_base`), where callers place the three regions of a bundle. The stack has what the
code needs; it comes first, so that more would trap instead of being written into data.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from glow.bundles.bundle import BundleSettings
from glow.dialects.errors import GlowError

LINKER = "wasm-ld"
LEAST_STACK, STACK_ALIGNMENT = 1024, 16


REFUSED = {
    "api": ("static", "NAME.mjs says where inputs and outputs are"),
    "pic": (False, "engines place modules where they like"),
    "shared": (False, "the module is loaded as it is"),
    "threads": (False, "a module computes on one thread"),
    "debug_callbacks": (False, "a module imports no functions"),
}
"""Options of bundles that WebAssembly has no use for: what they must be, and why."""


def check_wasm_settings(settings: BundleSettings) -> None:
    """Raise GlowError for an option that WebAssembly has no use for."""
    for name, (value, why) in REFUSED.items():
        given = getattr(settings, name)
        if given != value:
            option = f"--{name.replace('_', '-')}" + (f"={given}" if value else "")
            raise GlowError(f"{option} is not for WebAssembly: {why}")


def linker_command() -> list[str]:
    """The program that links; raises GlowError where there is none."""
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", LINKER]
    found = shutil.which(LINKER)
    if found is None:
        raise GlowError(
            f"{LINKER} is missing, which links WebAssembly",
            hint="pip install 'glow-xdsl[bundles]', or the Debian package lld",
        )
    return [found]


def linked_module(code: bytes, exports: Iterable[str], stack_bytes: int) -> bytes:
    """The module of an object, with some symbols as exports."""
    stack = max(LEAST_STACK, stack_bytes + -stack_bytes % STACK_ALIGNMENT)
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "bundle.o"), Path(folder, "bundle.wasm")
        source.write_bytes(code)
        options = ["--no-entry", "--gc-sections", "--strip-all", "--stack-first"]
        options += ["-z", f"stack-size={stack}"]
        options += [f"--export={name}" for name in ("__heap_base", *exports)]
        command = [*linker_command(), *options, str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = done.stderr.strip().partition("\n")[0]
            raise GlowError(f"{LINKER} cannot link the bundle: {reason}")
        return output.read_bytes()
