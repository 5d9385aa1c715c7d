"""Passes for tests: those of a backend's phases, and those that text names."""

from __future__ import annotations

from typing import Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

from glow.backends.backend import get_backend
from glow.compiler import run_passes
from glow.options import CompileOptions, OptionKeywords
from glow.tools.opt.pass_flags import parse_passes
from glow.universe import PASS_GROUPS, get_glow_passes


def passes_of(*phases: str, **options: Unpack[OptionKeywords]) -> list[ModulePass]:
    """The passes of some phases of a backend."""
    chosen = CompileOptions(**options)
    pipeline = get_backend(chosen.backend).pipeline(chosen)
    return [one for phase in phases for one in pipeline[phase].passes]


def run_text(module: ModuleOp, text: str) -> None:
    """Run the passes that text names as on the command line: `a,b{x=1}`."""
    known = {**get_all_passes(), **get_glow_passes()}
    run_passes(module, parse_passes(text, known, PASS_GROUPS))
