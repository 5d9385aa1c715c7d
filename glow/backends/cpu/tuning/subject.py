"""A network whose kernels are tuned: which there are, their share of the time, their times."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.report.kernel_profile import (
    KernelProfile,
    TracedModel,
    shape_text,
    spec_of,
)
from glow.backends.cpu.tuning.algorithms import AlgorithmSpec, algorithm_text
from glow.backends.cpu.tuning.candidates import GENERATORS, candidates
from glow.backends.cpu.tuning.families import spec_text
from glow.backends.cpu.tuning.features import features, peak_seconds
from glow.backends.cpu.tuning.kernels import Memory, build_trial, has_kernel
from glow.compiler import compile_model
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target
from glow.lowering.target.target_names import runnable_target
from glow.tuning import choices
from glow.tuning.measure import Meter, Times
from glow.tuning.records import kernel_key
from glow.tuning.search import Job, Tunable

PROFILED_RUNS = 10
COLD_SHARE = 0.5
"""Of a kernel's operands in a network that exceeds the nearer caches: weights come from DRAM,
inputs were just written."""
BLOCK_SECONDS = 0.003
"""What networks take that alternate: several runs of a small one."""
NETWORKS = 2
"""The compiled networks that are kept: the best one so far, and the one that is tried."""


class KernelSpace:
    """The kernels of a network that can be configured, with what they have now."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.specs: dict[str, Any] = {}
        self.present: dict[str, Any] = {}
        self.operations: defaultdict[str, float] = defaultdict(float)
        """Seconds at the peak of a core, of all kernels with that specification."""

    def shares(self) -> dict[str, float]:
        """The shares of the time at the peak, by key: of kernels, and of what choices change."""
        kernels = [
            seconds
            for key, seconds in self.operations.items()
            if not isinstance(self.specs[key], AlgorithmSpec)
        ]
        total = sum(kernels) or 1.0
        return {key: seconds / total for key, seconds in self.operations.items()}

    def note(self, spec: object, config: object) -> None:
        """Take notice of a kernel and its configuration."""
        if type(spec) in GENERATORS:
            key = kernel_key(spec_text(spec))
            self.specs[key], self.present[key] = spec, config
            self.operations[key] += peak_seconds(spec, self.target)

    def tunables(
        self, shares: Mapping[str, float], *, has_threads: bool
    ) -> list[Tunable]:
        """Those that others than the present configuration fit, with their share of the time.

        That of what a network has to judge is estimated by what it computes.
        """
        found: list[Tunable] = []
        estimated = self.shares()
        for key, spec in self.specs.items():
            own = self.present[key]
            others = [each for each in candidates(spec, self.target) if each != own]
            if others:
                share = (shares if has_kernel(spec) else estimated)[key]
                found.append(self._tunable(key, share, [own, *others]))
        found = [kernel for kernel in found if kernel.share or not kernel.alone]
        if has_threads:
            found += self._cuts(shares)
        return found

    def _tunable(self, key: str, share: float, configs: Sequence[Any]) -> Tunable:
        spec = self.specs[key]
        return Tunable(
            key,
            type(spec).__name__,
            spec_text(spec),
            _text(spec, configs[-1]),
            share,
            configs,
            has_kernel(spec),
            judged="fused" if isinstance(spec, WinogradSpec) else "",
        )

    def _cuts(self, shares: Mapping[str, float]) -> Iterator[Tunable]:
        """The other way in which threads may share a product."""
        for key, spec in self.specs.items():
            if isinstance(spec, MatmulSpec | StrassenSpec) and shares[key]:
                own = self.present[key]
                by_rows = replace(spec, config=own).is_cut_by_rows(self.target)
                cut = "columns" if by_rows else "rows"
                yield replace(
                    self._tunable(key, shares[key], [own, replace(own, cut=cut)]),
                    text=f"cut by {cut}: {_text(spec, own)}",
                    alone=False,
                    changes={"cut": cut},
                )

    def configured(self, kernel: Tunable, config: Any) -> Any:
        """The specification of a kernel with one of its candidates."""
        return replace(self.specs[kernel.key], config=config)

    def described(self, kernel: Tunable, config: Any) -> list[float]:
        """The features of a configuration."""
        return features(self.specs[kernel.key], config, self.target)

    def fields(self, configs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields of all configurations; those that nothing is said of are the present ones."""
        wanted = {**self.present, **configs}
        return {key: asdict(config) for key, config in wanted.items()}


class CpuSubject:
    """A model's network on this machine; raises GlowError for one with open sizes."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._space = KernelSpace(runnable_target(job.options.target))
        self._meter = Meter(self._space.target.l2_bytes)
        self._kernel = ""
        self._trials: dict[Any, Callable[[], None]] = {}
        self._memory: Memory = {}
        self._networks: dict[str, Callable[[], float]] = {}
        with choices.watching(self._space.note):
            self._profile = _profile(job)
        # A single thread is this one, and what others do meanwhile is not its time.
        is_single = self._profile.threads == 1
        self._kernels = self._space.tunables(
            _shares(self._profile), has_threads=not is_single
        )
        self._clock = time.thread_time if is_single else time.perf_counter
        self._runs = max(1, round(BLOCK_SECONDS / max(self._profile.seconds, 1e-6)))

    @property
    def kernels(self) -> Sequence[Tunable]:
        """Those of the network's kernels that can be configured, in its order."""
        return self._kernels

    def build(self, kernel: Tunable, config: Any) -> None:
        """Make a candidate's code; that of another kernel is forgotten."""
        if kernel.key != self._kernel:
            self._kernel, self._trials, self._memory = kernel.key, {}, {}
        if config not in self._trials:
            spec = self._space.configured(kernel, config)
            trial = build_trial(spec, self._space.target, self._memory)
            self._trials[config] = trial

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        """The times of a kernel alone."""
        for config in configs:
            self.build(kernel, config)
        trials = [self._trials[config] for config in configs]
        return self._meter.measure(trials, turns)

    def described(self, kernel: Tunable, config: Any) -> list[float]:
        """The features of a configuration."""
        return self._space.described(kernel, config)

    def score(self, times: Times) -> float:
        """The seconds of a call as it is in the network."""
        bytes_ = sum(
            binding.size for call in self._profile.calls for binding in call.bindings
        )
        is_large = bytes_ > self._space.target.l2_bytes
        return times.weighted(COLD_SHARE if is_large else 0.0)

    def network(self, configs: Mapping[str, Any]) -> Callable[[], float]:
        """A run of the network; what it says nothing of stays as it is."""
        fields = self._space.fields(configs)
        name = repr(sorted(fields.items()))
        if name not in self._networks:
            with choices.using(fields):
                model = compile_model(self._job.model, self._job.options)

            def run() -> float:
                start = self._clock()
                for _ in range(self._runs):
                    model.run(self._job.inputs)
                return (self._clock() - start) / self._runs

            while len(self._networks) >= NETWORKS:
                del self._networks[next(iter(self._networks))]
            self._networks[name] = run
        else:
            self._networks[name] = self._networks.pop(name)
        return self._networks[name]

    def forget(self) -> None:
        """Let go of compiled networks."""
        self._networks.clear()


def _profile(job: Job) -> KernelProfile:
    traced = TracedModel(job.model, job.options)
    profile = traced.profile(job.inputs, PROFILED_RUNS)
    if not profile.calls:
        raise GlowError("the network has no kernels to tune")
    return profile


def _shares(profile: KernelProfile) -> Mapping[str, float]:
    """The share of the network's time by the key of a kernel."""
    rows = profile.rows()
    total = sum(row.seconds for row in rows) or 1.0
    shares: defaultdict[str, float] = defaultdict(float)
    for call, row in zip(profile.calls, rows, strict=True):
        spec = tunable_spec(spec_of(call))
        if spec is not None:
            shares[kernel_key(spec_text(spec))] += row.seconds / total
    return shares


def tunable_spec(spec: object) -> Any | None:
    """What a kernel's specification holds that can be configured: itself, or a part."""
    for part in (spec, *(getattr(spec, name, None) for name in PARTS)):
        if type(part) in GENERATORS:
            return part
    return None


PARTS = ("spec", "planes", "shape")
"""Fields of specifications that hold what is configured: of phases, of depthwise kernels, of
recurrent steps."""


def _text(spec: Any, config: Any) -> str:
    """The family and sizes, as in tables of kernels; of an algorithm, which one is tried."""
    if isinstance(spec, AlgorithmSpec):
        sizes = map(str, spec.shape)
        return f"{algorithm_text(spec, config.level)} {' '.join(sizes)}"
    name = type(spec).__name__.removesuffix("Spec")
    return f"{name} {shape_text(spec)}"
