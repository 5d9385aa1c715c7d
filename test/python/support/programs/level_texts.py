"""Texts of all levels of a network, and what a fresh process makes of them.

`python level_texts.py FOLDER STAGE` compiles each `NAME.TARGET.LEVEL.mlir` of a folder to
`llvm` or `obj` and, where it is for this machine, runs it on `NAME.inputs.npz`;
`python level_texts.py MODEL TARGET STAGE CODE` compiles a model.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import ModelProto

import glow
from glow.compiler import load, lower_to
from glow.options import CompileOptions
from glow.tools.compile_command import compile_model

LEVELS = ("graph", "lowered", "instr", "loops")
HOST = "host"
OTHER_TARGETS = ("x86-64-v3", "neoverse-n1")
"""Targets that no machine of today is, for their caches are made up."""

TARGETS = (HOST, *OTHER_TARGETS)

CODE = ".code"
"""The suffix of what is made of a text."""

Options = dict[str, Any]


def code_of(
    model: ModelProto | Path, target: str, stage: str, options: Options
) -> bytes:
    """The LLVM IR or the object file of a model."""
    code = lower_to(load(model), stage, target=target, **options)
    return code.encode() if isinstance(code, str) else cast(bytes, code)


def write_levels(
    path: Path, folder: Path, options: Options, targets: Sequence[str] = TARGETS
) -> None:
    """Write the texts of a model file for the targets."""
    for target in targets:
        for level in LEVELS:
            text = folder / f"{path.stem}.{target}.{level}.mlir"
            compile_model(path, level, text, CompileOptions(target=target, **options))


def read_in_fresh_process(folder: Path, stage: str) -> None:
    """Compile and run all texts of a folder by a new Python."""
    subprocess.run([sys.executable, __file__, str(folder), stage], check=True)


def code_in_fresh_process(path: Path, target: str, stage: str) -> bytes:
    """The code that a new Python makes of a model file."""
    code = path.with_suffix(f".{target}{CODE}")
    arguments = [str(path), target, stage, str(code)]
    subprocess.run([sys.executable, __file__, *arguments], check=True)
    return code.read_bytes()


def differences(
    path: Path,
    folder: Path,
    inputs: dict[str, Any],
    stage: str,
    options: Options,
    targets: Sequence[str] = TARGETS,
) -> Iterator[str]:
    """The texts that made other code or other bits than the model in one go."""
    outputs = glow.compile(path, **options).run(inputs)
    for target in targets:
        expected = code_in_fresh_process(path, target, stage)
        for level in LEVELS:
            text = folder / f"{path.stem}.{target}.{level}.mlir"
            if text.with_suffix(CODE).read_bytes() != expected:
                yield f"{text.name}: other code"
            if text.with_suffix(".npz").exists():
                yield from other_bits(text, outputs)


def other_bits(text: Path, outputs: dict[str, Any]) -> Iterator[str]:
    """The outputs of a text that differ from those of the model."""
    found = np.load(text.with_suffix(".npz"))
    if set(found) != set(outputs):
        yield f"{text.name}: outputs {sorted(found)}, not {sorted(outputs)}"
    for name in set(found) & set(outputs):
        if found[name].tobytes() != outputs[name].tobytes():
            yield f"{text.name}: other bits in '{name}'"


def compile_texts(folder: Path, stage: str) -> None:
    """Write the code of each text of a folder, and outputs where it runs here."""
    for text in sorted(folder.glob("*.mlir")):
        name, target, level, _ = text.name.split(".")
        text.with_suffix(CODE).write_bytes(code_of(text, target, stage, {}))
        if target == HOST and level != "loops":
            inputs = dict(np.load(folder / f"{name}.inputs.npz"))
            np.savez(text.with_suffix(".npz"), **glow.compile(text).run(inputs))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        compile_texts(Path(sys.argv[1]), sys.argv[2])
    else:
        model, target, stage, code = sys.argv[1:]
        Path(code).write_bytes(code_of(Path(model), target, stage, {}))
