"""A network whose kernels are tuned: which there are, their share of the time, their times."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from glow.backends.cpu.kernels.matmul.matmul import MatmulSpec
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.report.kernel_profile import (
    KernelProfile,
    TracedModel,
    shape_text,
    spec_of,
)
from glow.backends.cpu.tuning.candidates import GENERATORS, candidates
from glow.backends.cpu.tuning.families import AlgorithmSpec, spec_text
from glow.backends.cpu.tuning.features import features, peak_seconds
from glow.backends.cpu.tuning.kernels import build_trial, has_kernel
from glow.compiler import compile_model
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.lowering.target.target_names import runnable_target
from glow.options import CompileOptions
from glow.tuning import choices
from glow.tuning.measure import Meter, Times
from glow.tuning.records import kernel_key
from glow.tuning.search import Tunable

if TYPE_CHECKING:
    from glow.compiler import Model

PROFILED_RUNS = 10
COLD_SHARE = 0.5
"""Of a kernel's operands in a network that exceeds the nearer caches: weights come from afar,
inputs were just written."""
BLOCK_SECONDS = 0.003
"""What networks take that alternate: several runs of a small one."""
NETWORKS = 2
"""The compiled networks that are kept: the best one so far, and the one that is tried."""


class CpuSubject:
    """A model's network on this machine; raises GlowError for one with open sizes."""

    def __init__(
        self, model: Model, options: CompileOptions, inputs: Mapping[str, Array]
    ) -> None:
        self._model, self._options, self._inputs = model, options, inputs
        self._target = runnable_target(options.target)
        self._meter = Meter(self._target.l2_bytes)
        self._specs: dict[str, Any] = {}
        self._present: dict[str, Any] = {}
        self._trials: dict[tuple[str, Any], Callable[[], None]] = {}
        self._networks: dict[str, Callable[[], float]] = {}
        with choices.watching(self._note):
            self._profile = _profile(model, options, inputs)
        self._kernels = self._tunables()
        # A single thread is this one, and what others do meanwhile is not its time.
        is_single = self._profile.threads == 1
        self._clock = time.thread_time if is_single else time.perf_counter
        self._runs = max(1, round(BLOCK_SECONDS / max(self._profile.seconds, 1e-6)))

    def _note(self, spec: object, config: object) -> None:
        if type(spec) in GENERATORS:
            key = kernel_key(spec_text(spec))
            self._specs[key], self._present[key] = spec, config

    @property
    def kernels(self) -> Sequence[Tunable]:
        """Those of the network's kernels that can be configured, in its order."""
        return self._kernels

    def _tunables(self) -> Sequence[Tunable]:
        shares = _shares(self._profile)
        found: list[Tunable] = []
        for key, spec in self._specs.items():
            own = self._present[key]
            others = [each for each in candidates(spec, self._target) if each != own]
            if others:
                found.append(
                    Tunable(
                        key,
                        type(spec).__name__,
                        spec_text(spec),
                        _text(spec),
                        shares[key],
                        [own, *others],
                        has_kernel(spec),
                    )
                )
        found = [kernel for kernel in found if kernel.share or not kernel.alone]
        if self._profile.threads > 1:
            found += sorted(self._cuts(shares), key=lambda kernel: -kernel.share)
        return found

    def _cuts(self, shares: Mapping[str, float]) -> Iterator[Tunable]:
        """The other way in which threads may share a product."""
        for key, spec in self._specs.items():
            if isinstance(spec, MatmulSpec | StrassenSpec) and shares[key]:
                own = self._present[key]
                by_rows = replace(spec, config=own).is_cut_by_rows(self._target)
                cut = "columns" if by_rows else "rows"
                other = replace(own, cut=cut)
                yield Tunable(
                    key,
                    type(spec).__name__,
                    spec_text(spec),
                    f"cut by {cut}: {_text(spec)}",
                    shares[key],
                    [own, other],
                    alone=False,
                    changes={"cut": cut},
                )

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        """The times of a kernel alone; code of another kernel is forgotten."""
        self._trials = {
            key: trial for key, trial in self._trials.items() if key[0] == kernel.key
        }
        for config in configs:
            if (kernel.key, config) not in self._trials:
                spec = replace(self._specs[kernel.key], config=config)
                trial = build_trial(spec, self._target)
                self._trials[kernel.key, config] = trial
        trials = [self._trials[kernel.key, config] for config in configs]
        return self._meter.measure(trials, turns)

    def described(self, kernel: Tunable, config: Any) -> tuple[float, list[float]]:
        """The seconds at the core's peak, and the features of a configuration."""
        spec = self._specs[kernel.key]
        peak = peak_seconds(spec, self._target)
        return peak, features(spec, config, self._target)

    def score(self, times: Times) -> float:
        """The seconds of a call as it is in the network."""
        bytes_ = sum(
            binding.size for call in self._profile.calls for binding in call.bindings
        )
        is_large = bytes_ > self._target.l2_bytes
        return times.weighted(COLD_SHARE if is_large else 0.0)

    def network(self, configs: Mapping[str, Any]) -> Callable[[], float]:
        """A run of the network; what it says nothing of stays as it is."""
        wanted = {**self._present, **configs}
        fields = {key: asdict(config) for key, config in wanted.items()}
        name = repr(sorted(fields.items()))
        if name not in self._networks:
            with choices.using(fields):
                model = compile_model(self._model, self._options)

            def run() -> float:
                start = self._clock()
                for _ in range(self._runs):
                    model.run(self._inputs)
                return (self._clock() - start) / self._runs

            while len(self._networks) >= NETWORKS:
                del self._networks[next(iter(self._networks))]
            self._networks[name] = run
        else:
            self._networks[name] = self._networks.pop(name)
        return self._networks[name]


def _profile(
    model: Model, options: CompileOptions, inputs: Mapping[str, Array]
) -> KernelProfile:
    traced = TracedModel(model, options)
    profile = traced.profile(inputs, PROFILED_RUNS)
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


def _text(spec: Any) -> str:
    """The family and sizes, as in tables of kernels."""
    if isinstance(spec, AlgorithmSpec):
        sizes = [shape_text(part) or str(part) for part in spec.shape]
        return f"no {spec.algorithm} {' '.join(sizes)}"
    name = type(spec).__name__.removesuffix("Spec")
    return f"{name} {shape_text(spec)}"
