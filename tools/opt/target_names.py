"""The targets of `glow-opt` beside xDSL's by name; a target is loaded when it is asked for."""

from __future__ import annotations

from functools import partial

from xdsl.utils.target import Target

from glow.exporters import PROGRAM_FORMATS

CLASSES = {
    "llvm": "LLVMTarget",
    "asm": "AssemblyTarget",
    "onnx": "ONNXTarget",
    "dot": "DotTarget",
}


def _load(name: str) -> type[Target]:
    from glow.tools.opt import targets

    return getattr(targets, CLASSES[name])


def _load_format(name: str) -> type[Target]:
    from glow.tools.opt import targets

    return targets.program_target(name)


OWN_TARGETS = {
    **{name: partial(_load, name) for name in CLASSES},
    **{name: partial(_load_format, name) for name in PROGRAM_FORMATS},
}
