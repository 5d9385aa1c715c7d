"""Configuration of the lit suites: `lit test` runs every `.mlir` file under `test/`."""

# ruff: noqa: F821
# pyright: reportUndefinedVariable=false
# lit defines `config` and executes this file.

import os
import sys
from pathlib import Path

root = Path(config.test_source_root or __file__).resolve()
root = root if root.is_dir() else root.parent
sys.path[:0] = [str(root), str(root / "python")]

import tool_server  # noqa: E402
from support.programs.upstream import find_mlir_opt, mlir_translate_of  # noqa: E402
from support.programs.validated_format import ValidatedTest  # noqa: E402

config.name = "glow"
# After its RUN lines, the passes of each test must keep the results of its programs.
config.test_format = ValidatedTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["python", "inputs", "Output"]
config.test_source_root = str(root)
config.test_exec_root = str(root.parent / "build" / "lit")
config.maxIndividualTestTime = 60

# Our tools, then the scripts of the environment that runs lit, whatever is on the PATH.
tools = tool_server.start()
scripts = Path(sys.executable).parent
folders = [str(tools), str(scripts), os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(folders)
# A cache of its own: a test neither sees nor leaves compiled objects elsewhere.
config.environment["GLOW_CACHE_DIR"] = str(root.parent / "build" / "lit" / "cache")
# Nor is anything chosen by what was measured on this machine.
config.environment["GLOW_TUNING"] = "off"

generic = "--mlir-print-op-generic"
config.substitutions += [
    ("GLOW_ROUNDTRIP", "glow-opt %s | glow-opt | filecheck %s"),
    ("GLOW_GENERIC_ROUNDTRIP", f"glow-opt {generic} %s | glow-opt | filecheck %s"),
]

# Tests with `REQUIRES: mlir-opt` run where upstream MLIR is installed.
mlir_opt = find_mlir_opt()
if mlir_opt is not None:
    config.available_features.add("mlir-opt")
    config.substitutions += [
        ("MLIR_OPT", str(mlir_opt)),
        ("MLIR_TRANSLATE", str(mlir_translate_of(mlir_opt))),
    ]
