"""A network whose kernels a board measures: built here for its CPU, run there.

Nothing of the network has to run on this machine. So a kernel's share of the time is that of its
multiply-adds, and a network is the program of a bundle, on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import Float32Type, MemRefType

from glow.backends.cpu.tuning.features import F32_BYTES, Kernel
from glow.backends.cpu.tuning.kernels import BUILDERS, memory_bytes
from glow.backends.cpu.tuning.subject import COLD_SHARE, NETWORKS, KernelSpace
from glow.backends.pipeline import LOWERED
from glow.compiler import load, lower
from glow.dialects.errors import GlowError
from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.target.target import Target
from glow.tuning import choices
from glow.tuning.measure import Times
from glow.tuning.remote.board import Bench, Program
from glow.tuning.search import Job, Tunable

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Of machines that the system calls otherwise than LLVM."""


class BoardSubject:
    """A model's network on a board; raises GlowError for one of another architecture."""

    def __init__(self, job: Job, bench: Bench) -> None:
        self._job, self._bench = job, bench
        target = Target.from_string(job.options.target)
        _check_machine(bench, target)
        self._space = KernelSpace(target)
        with choices.watching(self._space.note):
            lower(load(job.model, job.options), LOWERED, job.options)
        if not self._space.specs:
            raise GlowError("the network has no kernels to tune")
        shares = self._space.shares()
        self._kernels = self._space.tunables(shares, has_threads=False)
        self._programs: dict[str, Program] = {}
        self._kernel = ""
        self._networks: dict[str, Program] = {}

    @property
    def kernels(self) -> Sequence[Tunable]:
        """Those of the network's kernels that can be configured, in its order."""
        return self._kernels

    def build(self, kernel: Tunable, config: Any) -> None:
        """Make a candidate's code; that of another kernel is forgotten, on the board, too."""
        if kernel.key != self._kernel:
            self._kernel, self._programs = kernel.key, {}
            self._bench.board.forget()
        name = program_name(kernel, config)
        if name not in self._programs:
            spec, target = self._space.configured(kernel, config), self._space.target
            self._programs[name] = kernel_program(spec, target, self._bench)

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        """The times of a kernel alone; those of candidates that the board dies of are LOST."""
        for config in configs:
            self.build(kernel, config)
        names = [program_name(kernel, config) for config in configs]
        wanted = {name: self._programs[name] for name in names}
        cache_bytes = self._space.target.l2_bytes
        return self._bench.board.measure(wanted, turns, cache_bytes)

    def described(self, kernel: Tunable, config: Any) -> list[float]:
        """The features of a configuration."""
        return self._space.described(kernel, config)

    def score(self, times: Times) -> float:
        """The seconds of a call as it is in the network."""
        target = self._space.target
        specs = self._space.specs.values()
        weights = sum(Kernel(spec, None, target).weights for spec in specs)
        is_large = F32_BYTES * weights > target.l2_bytes
        return times.weighted(COLD_SHARE if is_large else 0.0)

    def network(self, configs: Mapping[str, Any]) -> Callable[[], float]:
        """A run of the network, on one thread; what it says nothing of stays as it is."""
        fields = self._space.fields(configs)
        name = f"the network with {sorted(fields.items())}"
        if name not in self._networks:
            with choices.using(fields):
                program = self._bench.network(self._job)
            while len(self._networks) >= NETWORKS:
                del self._networks[next(iter(self._networks))]
            self._networks[name] = program
        program = self._networks[name]

        def run() -> float:
            (times,) = self._bench.board.measure(
                {name: program}, 1, self._space.target.l2_bytes
            )
            if not math.isfinite(times.warm):
                raise GlowError(f"{self._bench.board.address} cannot run the network")
            return times.warm

        return run

    def forget(self) -> None:
        """Let go of networks, on the board, too."""
        self._networks.clear()
        self._bench.board.forget()


def program_name(kernel: Tunable, config: Any) -> str:
    """What a board is told of a candidate, and says where it dies of it."""
    return f"{kernel.text} with {config}"


def _check_machine(bench: Bench, target: Target) -> None:
    machine = bench.board.machine.lower()
    architecture = target.triple.split("-")[0]
    if ARCHITECTURES.get(machine, machine) != architecture:
        raise GlowError(
            f"{bench.board.address} is a machine of {machine}, the target is of "
            f"{architecture}",
            hint="--target-cpu names its CPU",
        )


def kernel_program(spec: Any, target: Target, bench: Bench) -> Program:
    """The kernel of a configured specification, with buffers like those of a trial here."""
    libraries: list[bytes] = []
    buffers: dict[str, tuple[str, int]] = {}
    calls: list[tuple[int, str, list[int], list[int]]] = []
    for number, (kernel, names) in enumerate(BUILDERS[type(spec)](spec, target)):
        lowered = lower_functions([kernel.function], target)
        libraries.append(bench.library(emit_functions(lowered, target), target))
        inputs = kernel.function.function_type.inputs
        memory = [cast("MemRefType", k) for k in inputs if isinstance(k, MemRefType)]
        places: list[int] = []
        for place, kind in enumerate(memory):
            name = names[place] if place < len(names) else f"extra{place}"
            is_float = isinstance(kind.element_type, Float32Type)
            filling = "floats" if is_float else "zeros"
            buffers.setdefault(name, (filling, memory_bytes(kind)))
            places.append(list(buffers).index(name))
        symbol = kernel.function.sym_name.data
        calls.append((number, symbol, places, [0, kernel.work_items]))
    return Program(libraries, list(buffers.values()), calls)
