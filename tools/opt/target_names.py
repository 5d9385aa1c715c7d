"""The targets of `glow-opt` beside xDSL's by name; a target is loaded when it is asked for."""

from __future__ import annotations

from functools import partial

from xdsl.utils.target import Target

CLASSES = {"llvm": "LLVMTarget", "asm": "AssemblyTarget", "onnx": "ONNXTarget"}


def _load(name: str) -> type[Target]:
    from glow.tools.opt import targets

    return getattr(targets, CLASSES[name])


OWN_TARGETS = {name: partial(_load, name) for name in CLASSES}
