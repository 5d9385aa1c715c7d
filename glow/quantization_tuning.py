"""Searches ranges and precision of layers until a quantized network scores well enough.

Glow's model tuner, for any task: the user says what a good network is. What costs nothing
at run time comes first, and the search stops as soon as the target is met:

1. the methods of calibration, of which the best is kept;
2. narrower ranges of the layers' inputs, one after the other, where they score better;
3. wider elements: the inputs of the worst layers in 16 bits, then those layers in float. The
   fewest that meet the target are found by bisection, and each that is not needed is undone.

Everything is tried in one order, so the same data gives the same profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp

from glow.compiled_model import CompiledModel
from glow.compiler import compile_module, load
from glow.dialects.weight_table import Array
from glow.options import CompileOptions
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.calibration import METHODS, calibrated_range
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.schema import PRECISIONS
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.quantization_report import Layer, report_quantization

Score = Callable[[CompiledModel], float]
"""How good a network is; more is better."""

SHRINKING = (0.9, 0.8, 0.7, 0.6, 0.5)
"""The parts of a range that are tried."""

WIDE = "int16"


@dataclass(frozen=True)
class Aim:
    """What is searched for: a network that scores `target` or more, in so many trials."""

    score: Score
    target: float
    trials: int = 100


@dataclass
class Search:
    """The state of a search: what was tried, and the best of it."""

    model: ModuleOp
    options: QuantizationOptions
    aim: Aim
    progress: Callable[[str, float], None]
    profile: Profile
    best: float = float("-inf")
    tried: int = field(default=0)

    @property
    def done(self) -> bool:
        """Whether the target is met, or as much was tried as was allowed."""
        return self.best >= self.aim.target or self.tried >= self.aim.trials

    def measure(self, what: str, profile: Profile) -> float:
        """The score of the network by a profile."""
        chosen = CompileOptions(quantize=profile, quantization=self.options)
        network = compile_module(load(self.model), chosen)
        found = float(self.aim.score(network))
        self.tried += 1
        self.progress(what, found)
        return found

    def offer(self, what: str, profile: Profile) -> bool:
        """Take a profile if it scores better than all before."""
        found = self.measure(what, profile)
        if found <= self.best:
            return False
        self.best, self.profile = found, profile
        return True


def tune_quantization(
    model: ModuleOp,
    profile: Profile,
    aim: Aim,
    batches: Sequence[Mapping[str, Array]],
    options: QuantizationOptions | None = None,
    *,
    progress: Callable[[str, float], None] = lambda what, score: None,
) -> tuple[Profile, float]:
    """The first profile found that is good enough, else the best, and its score.

    Layers are ranked by what they do to the network's output on `batches`.
    """
    chosen = options or QuantizationOptions()
    search = Search(model, chosen, aim, progress, profile)
    search.offer("as profiled", profile)
    try_calibrations(search)
    if not search.done:
        report = report_quantization(model, search.profile, batches, chosen)
        try_ranges(search, report.layers)
        try_precision(search, report.layers)
    return search.profile, search.best


def changed(profile: Profile, changes: Mapping[str, ValueProfile]) -> Profile:
    """A profile with other choices for some values."""
    return Profile({**profile.values, **changes}, profile.batches, profile.keep)


def try_calibrations(search: Search) -> None:
    """Each method for all values."""
    profile, bits = search.profile, PRECISIONS[search.options.precision]
    for method in METHODS:
        if search.done:
            return
        if method != search.options.calibration:
            ranges = {
                name: replace(value, range=calibrated_range(value, method, bits))
                for name, value in profile.values.items()
            }
            search.offer(f"calibration={method}", changed(profile, ranges))


def try_ranges(search: Search, layers: Sequence[Layer]) -> None:
    """Narrower ranges for each input, as long as they score better; half of the trials."""
    limit = search.tried + (search.aim.trials - search.tried) // 2
    for name in dict.fromkeys(layer.input_name for layer in layers):
        value = search.profile.values.get(name)
        if value is None:
            continue
        low, high = value.range or (value.low, value.high)
        for part in SHRINKING:
            if search.done or search.tried >= limit:
                return
            narrower = replace(value, range=(low * part, high * part))
            what = f"{part:.0%} of the range of {name}"
            if not search.offer(what, changed(search.profile, {name: narrower})):
                break


@dataclass(frozen=True)
class Step:
    """A layer that computes more precisely."""

    layer: str
    input_name: str
    is_float: bool

    def __str__(self) -> str:
        return f"{self.layer} in {'float' if self.is_float else WIDE}"


def applied(profile: Profile, steps: Sequence[Step]) -> Profile:
    """A profile with layers made more precise."""
    wide = [step.input_name for step in steps if not step.is_float]
    values = {
        name: replace(profile.values[name], precision=WIDE)
        for name in wide
        if name in profile.values
    }
    kept = [step.layer for step in steps if step.is_float]
    result = changed(profile, values)
    result.keep = tuple(dict.fromkeys((*profile.keep, *kept)))
    return result


def try_precision(search: Search, layers: Sequence[Layer]) -> None:
    """The fewest steps that meet the target, the worst layers first."""
    wide = [
        Step(layer.name, layer.input_name, False)
        for layer in layers
        if layer.stored is not None and search.options.precision != WIDE
    ]
    steps = [*wide, *(Step(layer.name, layer.input_name, True) for layer in layers)]
    profile = search.profile

    low, high = 0, len(steps)  # too few, and as many as there are
    while low + 1 < high and search.tried < search.aim.trials:
        middle = (low + high) // 2
        candidate = applied(profile, steps[:middle])
        found = search.measure(f"{middle} more precise layers", candidate)
        low, high = (low, middle) if found >= search.aim.target else (middle, high)
        if found >= search.best:
            search.best, search.profile = found, candidate
    if search.best < search.aim.target and search.tried < search.aim.trials:
        search.offer(f"{high} more precise layers", applied(profile, steps[:high]))
    if search.best >= search.aim.target:
        undo_steps(search, profile, steps[:high])


def undo_steps(search: Search, profile: Profile, steps: Sequence[Step]) -> None:
    """Undo each step without which the target is met too."""
    needed = list(steps)
    for step in reversed(steps):
        rest = [other for other in needed if other is not step]
        if search.tried >= search.aim.trials:
            break
        candidate = applied(profile, rest)
        found = search.measure(f"without {step}", candidate)
        if found >= search.aim.target:
            needed = rest
            search.best, search.profile = found, candidate
