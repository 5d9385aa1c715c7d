"""The way from a network's graph to what a backend runs: named phases of passes.

    Pipeline(
        [
            graph_phase(options),
            Phase("lowered", "few primitives, and nodes of its own", lambda: [MyPass()]),
            instr_phase(options),
        ],
        compile_from="instr",
    )

A phase is named by the level of the IR behind it, where a program can be printed, read again
and taken further. Passes are objects that know their options; they are made, and what they
import is loaded, when the phase runs. Only the command line spells them as text
(`glow-opt --list-pipelines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from glow.dialects.errors import GlowError
from glow.dialects.numerics import WEIGHT_GROWTH

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from glow.options import CompileOptions

Passes: TypeAlias = "Sequence[ModulePass]"

GRAPH, LOWERED, INSTR, LOOPS = "graph", "lowered", "instr", "loops"
"""The levels that the compiler recognizes in a program that comes from outside: optimized
nodes, a backend's choice of nodes, instructions on planned memory, functions of loops."""

LEVELS = (GRAPH, LOWERED, INSTR, LOOPS)
"""These from high to low."""


def no_passes() -> Passes:
    """Of a phase that is an export."""
    return ()


@dataclass(frozen=True)
class Phase:
    """A stretch of the way, named by the level that it ends at."""

    name: str
    summary: str
    """What a program is then, in a few words."""
    make: Callable[[], Passes] = no_passes
    """Makes the passes, in order."""
    is_export: bool = False
    """Whether the backend writes it as text or bytes (`Backend.export`): IR ends before."""

    @cached_property
    def passes(self) -> Passes:
        """The passes, which are made when somebody asks."""
        return tuple(self.make())


@dataclass(frozen=True)
class Pipeline:
    """The phases of a backend in order, those that are exports last."""

    phases: Sequence[Phase]
    compile_from: str
    """The phase whose program `Backend.compile` takes."""

    def __iter__(self) -> Iterator[Phase]:
        return iter(self.phases)

    @property
    def names(self) -> list[str]:
        """The names of all phases."""
        return [phase.name for phase in self.phases]

    def __getitem__(self, name: str) -> Phase:
        """The phase of a name; raises GlowError listing those there are."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise GlowError(
            f"unknown phase '{name}'", hint=f"one of {', '.join(self.names)}"
        )

    def is_compiled(self, name: str) -> bool:
        """Whether a phase is that which `Backend.compile` takes, or behind it."""
        return name in self.names[self.names.index(self.compile_from) :]

    def between(self, level: str | None, last: str) -> Iterator[Phase]:
        """The phases that take a program of a level (None for a fresh graph) to `last`.

        None where it is past that; a level that no phase is named by is past all.
        """
        names = self.names
        start = 0 if level is None else len(names)
        if level in names:
            start = names.index(level) + 1
        for phase in self.phases[start : names.index(self[last].name) + 1]:
            if not phase.is_export:
                yield phase

    def change(self, name: str, passes: Callable[[Passes], Passes]) -> Pipeline:
        """The pipeline with other passes in one phase, made of those that it has.

        pipeline.change("lowered", lambda passes: [FuseMyNodesPass(), *passes])
        """
        old = self[name]
        new = replace(old, make=lambda: passes(old.passes))
        return replace(
            self, phases=[new if phase is old else phase for phase in self.phases]
        )


def graph_phase(options: CompileOptions) -> Phase:
    """What all backends do to a graph first, which the compiler quantizes on the way."""

    def make() -> Passes:
        from glow.passes.graph.pipeline import graph_passes

        return graph_passes(options.numerics)

    return Phase(GRAPH, "typed nodes, optimized", make)


def instr_phase(options: CompileOptions, alignment: int | None = None) -> Phase:
    """Instructions for the nodes of any backend, in one arena that keeps to a limit.

    `alignment`: the bytes at multiples of which buffers have to begin.
    """

    def make() -> Passes:
        from glow.lowering.instr_pipeline import instr_passes

        return instr_passes(options.memory_limit, alignment)

    return Phase(INSTR, "instructions on one planned arena", make)


def check_level(level: str | None, options: CompileOptions) -> None:
    """Raise GlowError for options that are for what a program has behind it."""
    graph = {
        "quantize": options.quantize is not False,
        "precision": options.precision != "f32",
        "numerics": options.numerics != "default",
        "weight_growth": options.weight_growth != WEIGHT_GROWTH,
    }
    asked = {**graph, "memory_limit": options.memory_limit is not None}
    first_without = {**dict.fromkeys(graph, LOWERED), "memory_limit": INSTR}
    for name, first in first_without.items():
        if asked[name] and level in LEVELS[LEVELS.index(first) :]:
            raise GlowError(
                f"{name} comes too late for a program of the level {level}",
                hint="it is for the network that the program was made from",
            )
