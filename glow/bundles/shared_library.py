"""Links the object of a bundle to a shared library, by a C compiler that is there.

For this machine that is the system's `cc`, for others Zig's, which links for all of them
(`pip install 'glow-xdsl[bundles]'`). The library has no time, path or number of the build.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glow.bundles.bundle import BundleSettings
from glow.dialects.errors import GlowError
from glow.lowering.target.features import same_architecture
from glow.lowering.target.target import Target, host_target

SYSTEM = "linux-gnu"
FLAGS = ("-shared", "-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noexecstack")
SECONDS = 300


def shared_library(code: bytes, settings: BundleSettings, target: Target) -> bytes:
    """The library `NAME.so`; raises GlowError where nothing can link it."""
    return linked(code, settings.name, target)


def linked(code: bytes, name: str, target: Target) -> bytes:
    """The library of an object, under a name; raises GlowError where nothing can link it."""
    if "linux" not in target.triple:
        raise GlowError(
            f"--shared: {target.cpu} has no shared libraries", hint="link the object"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.o").write_bytes(code)
        output = ("-o", f"{name}.so", f"{name}.o")
        soname = f"-Wl,-soname,{name}.so"
        run_linker([*c_compiler(target), *FLAGS, soname, *output], folder)
        return (Path(folder) / f"{name}.so").read_bytes()


def run_linker(command: Sequence[str], folder: str) -> None:
    """Run a command in a folder; raises GlowError where it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GlowError(f"--shared: cannot run {command[0]}: {error}") from error
    if done.returncode:
        raise GlowError(f"--shared: the linker failed: {done.stderr.strip()}")


def c_compiler(target: Target) -> Sequence[str]:
    """The command of a C compiler for a target; raises GlowError where there is none."""
    if same_architecture(target, host_target()) and shutil.which("cc"):
        return ["cc"]
    if importlib.util.find_spec("ziglang") is None:
        raise GlowError(
            "--shared needs a C compiler for the target",
            hint="pip install 'glow-xdsl[bundles]'",
        )
    arch = target.triple.partition("-")[0]
    return [sys.executable, "-m", "ziglang", "cc", "-target", f"{arch}-{SYSTEM}"]
