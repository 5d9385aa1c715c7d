"""A core family: the numbers of a CPU by which kernels and tiles are chosen.

Cost models speak of cycles, and what a step of a loop takes differs from core to core: how many
multiply-adds begin in a cycle, how many bytes come from which cache, what a wrong guess of a
branch costs. All of that stands in tables, one a family of cores, in the folder `cores`, each
number with its source. `Target.core` is the table of the machine that code is made for; cost
models read it, and hold no number of a machine themselves.

A source is one of

- a page that anybody can read: a manual of the vendor, LLVM's scheduling model, a measurement
  that somebody published;
- `measured:` and how;
- `fitted:` a number that stands for several effects, with the kernels that it was fitted to;
- `estimated:` what nobody has measured or published as far as we know, and why it may be so;
- `as NAME:` that of another family, where nothing is published, and why it should be like it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from glow.dialects.errors import GlowError

SUSTAINED = 0.5
"""What kernels get of the bytes a cycle that a cache beyond the first can send: their loads compete
with those that the first cache serves."""

SUSTAINED_LOADS = 0.9
"""What kernels get of the loads a cycle of the first cache. Fitted to the times of register tiles:
those that load a number for each multiply-add take 12 % longer than others on a Xeon of the class
of Sapphire Rapids and 25 % on a Zen 3, for the same multiply-adds."""

UNFETCHED = 0.8
"""The rate of lines from beyond the second cache that nothing fetched ahead, of a stream's."""

BYTES_UNDER_WAY = 2000
"""What a core asks other cores for at a time: 31 lines of 64 bytes."""

TRANSFERS_A_BARRIER = 5
"""Lines that go from core to core, one after the other, in a kernel call and its barrier, where
nobody has measured one."""

MANY_CORES = 16
"""Threads of a program are taken to share a last cache that so many cores share."""


class Figure(NamedTuple):
    """A number, and where it comes from."""

    value: float
    source: str


@dataclass(frozen=True)
class Core:
    """The numbers of a core family; sizes in bytes, times in cycles of the core.

    `vector_bytes` is the width of the vectors that code uses, for which `fma_per_cycle` and the
    like are: narrower than the core's where features are switched off.
    """

    family: str
    summary: str = field(compare=False, repr=False)
    cpus: tuple[str, ...] = field(compare=False, repr=False)
    """The names by which LLVM calls them."""
    sources: dict[str, str] = field(compare=False, repr=False)
    """Of each number, by its name."""

    clock_hertz: float
    """Cycles a second while vectors multiply, as in kernels; some cores slow down for that. Only
    times in seconds need it: choices are in cycles."""
    vector_bytes: int
    vector_registers: int
    fma_pipes: int
    fma_pipe_bytes: int
    fma_latency: int
    """From a sum to the next one that adds to it."""
    load_pipes: int
    load_pipe_bytes: int
    store_pipes: int
    store_pipe_bytes: int
    int8_speedup: float
    """Multiply-adds of bytes in the time of one of f32, where the CPU has dot products."""
    bf16_speedup: float
    tile_row_cycles: float
    """Of a product of matrix tiles, for each row of the left one, where the CPU has them."""
    mispredict_cycles: int
    pause_cycles: int
    """One look of a waiting thread, with the pause after it."""
    l1_bytes: int
    l1_ways: int
    l2_bytes: int
    """One core's share."""
    l3_bytes: int
    """All that a core can reach; 0 without such a cache."""
    l3_cores: int
    """The cores that share it."""
    l2_bytes_per_cycle: float
    """At most, to the first cache."""
    l3_bytes_per_cycle: float
    hidden_l3_reads: float
    """The share of the time of reads from there that products hide behind multiply-adds."""
    memory_bytes_per_cycle: float
    """Of one core that reads a long array in order."""
    contended_l3_bytes_per_cycle: float
    contended_memory_bytes_per_cycle: float
    """Of each core while the others read too: all of a machine that was measured, and eight in a
    table."""
    shared_l3_latency: int
    """From a core's write to another's read, of cores that share the last cache."""
    split_l3_latency: int
    """Of cores that do not."""
    barrier_cycles: int
    """One more kernel call, and the barrier before it."""

    def __hash__(self) -> int:
        return hash((self.family, self.vector_bytes, self.l2_bytes))

    def with_vectors(self, vector_bytes: int, vector_registers: int) -> Core:
        """The core with vectors of another width."""
        return replace(
            self, vector_bytes=vector_bytes, vector_registers=vector_registers
        )

    @cached_property
    def fma_per_cycle(self) -> float:
        """Multiply-adds of vectors."""
        return _rate(self.fma_pipes, self.fma_pipe_bytes, self.vector_bytes)

    @cached_property
    def loads_per_cycle(self) -> float:
        """Vectors from the first cache."""
        return _rate(self.load_pipes, self.load_pipe_bytes, self.vector_bytes)

    def load_cycles(self, numbers: float, vectors: float) -> float:
        """Of numbers, each for all lanes of a vector, and of vectors, from the first cache."""
        cycles = numbers / self.load_pipes + vectors / self.loads_per_cycle
        return cycles / SUSTAINED_LOADS

    @cached_property
    def stores_per_cycle(self) -> float:
        """Vectors to the first cache."""
        return _rate(self.store_pipes, self.store_pipe_bytes, self.vector_bytes)

    @cached_property
    def chains(self) -> int:
        """The sums that have to be under way for multiply-adds to begin in every cycle.

        Where registers cannot hold so many, as functions of a runtime take long, half of the
        registers do: others would wait on the stack.
        """
        wanted, registers = (
            round(self.fma_latency * self.fma_per_cycle),
            round(self.vector_registers),
        )
        return max(1, wanted if wanted <= registers else registers // 2)

    @cached_property
    def sustained_l2_bytes_per_cycle(self) -> float:
        """From the second cache, to a kernel that loads from the first one too."""
        return SUSTAINED * self.l2_bytes_per_cycle

    @cached_property
    def sustained_l3_bytes_per_cycle(self) -> float:
        """The same from the last cache."""
        return SUSTAINED * self.l3_bytes_per_cycle

    def bytes_per_cycle(self, held: int) -> float:
        """From the second cache or the last one, half of which is for other values, or memory."""
        if held <= self.l2_bytes:
            return self.sustained_l2_bytes_per_cycle
        if 2 * held <= self.l3_bytes:
            return self.sustained_l3_bytes_per_cycle
        return self.contended_memory_bytes_per_cycle

    @cached_property
    def far_bytes_per_cycle(self) -> float:
        """From beyond the second cache, where nothing fetches ahead."""
        return UNFETCHED * self.memory_bytes_per_cycle

    @cached_property
    def move_cycles(self) -> float:
        """One vector that is loaded and stored."""
        return 1 / self.loads_per_cycle + 1 / self.stores_per_cycle

    @cached_property
    def scalar_move_cycles(self) -> float:
        """One element that is loaded and stored by itself."""
        return 1 / self.load_pipes + 1 / self.store_pipes

    @cached_property
    def pass_cycles(self) -> float:
        """A vector that a phase reads, writes, and another reads from the second cache."""
        leaves = self.vector_bytes / self.sustained_l2_bytes_per_cycle
        return 2 * self.move_cycles + leaves

    @cached_property
    def balance(self) -> float:
        """The multiply-adds for each f32 from memory that take as long as reading it, on all
        cores.
        """
        bytes_per_cycle = self.contended_memory_bytes_per_cycle
        return self.fma_per_cycle * self.vector_bytes / bytes_per_cycle

    @cached_property
    def l1_set_distance(self) -> int:
        """Lines that many bytes apart share a set of the first cache."""
        return self.l1_bytes // self.l1_ways

    @cached_property
    def l3_share(self) -> int:
        """One core's part of the last cache, at least what it has by itself."""
        return max(self.l2_bytes, self.l3_bytes // max(1, self.l3_cores))

    @cached_property
    def cross_core_latency(self) -> int:
        """Between the cores on which the threads of a program run."""
        is_shared = self.l3_cores >= MANY_CORES or not self.l3_bytes
        return self.shared_l3_latency if is_shared else self.split_l3_latency

    @cached_property
    def cross_core_bytes_per_cycle(self) -> float:
        """The rate at which a core reads what another one wrote."""
        return BYTES_UNDER_WAY / self.cross_core_latency


def _rate(pipes: int, pipe_bytes: int, vector_bytes: int) -> float:
    """The vectors a cycle through pipes, of which a wide vector takes several."""
    return pipes * min(1, pipe_bytes / vector_bytes)


FIGURES = tuple(
    name
    for name in Core.__dataclass_fields__
    if name not in ("family", "summary", "cpus", "sources")
)
"""The numbers of a table, each of which has a source."""

WHOLE_FIGURES = tuple(
    name for name in FIGURES if Core.__dataclass_fields__[name].type == "int"
)


def make_core(
    family: str, summary: str, cpus: tuple[str, ...], **figures: Figure
) -> Core:
    """The core of a table; raises GlowError for a number that is missing or unknown."""
    for problem in sorted(set(FIGURES) ^ set(figures)):
        what = "no such number as" if problem in figures else "lacks"
        raise GlowError(f"core family {family}: {what} {problem}")
    values: dict[str, Any] = {name: figure.value for name, figure in figures.items()}
    sources = {name: figure.source for name, figure in figures.items()}
    return Core(family, summary, cpus, sources, **values)


def barrier(latency: int) -> Figure:
    """The cycles of a barrier between cores of that latency, which nobody has measured."""
    lines = (
        f"estimated: {TRANSFERS_A_BARRIER} lines from core to core, one after the other"
    )
    return Figure(TRANSFERS_A_BARRIER * latency, lines)


def like(
    core: Core, family: str, summary: str, cpus: tuple[str, ...], **changed: Figure
) -> Core:
    """A family of which most numbers are those of another one."""

    def kept(name: str) -> Figure:
        source = core.sources[name]
        of_another = (
            source if source.startswith("as ") else f"as {core.family}: {source}"
        )
        return Figure(getattr(core, name), of_another)

    figures = {name: kept(name) for name in FIGURES} | changed
    return make_core(family, summary, cpus, **figures)
