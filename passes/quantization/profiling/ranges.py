"""The range of each value: from a profile, or seen on synthetic inputs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import MOVEMENT
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import Array, dtype_of
from glow.dialects.weights import clone_module
from glow.interpreter import FUNCTIONS, evaluate_node
from glow.passes.graph.fold_constants import steps_of
from glow.passes.quantization.profiling.blas_threads import products_on_one_thread
from glow.passes.quantization.profiling.calibration import (
    MIN_MAX,
    Range,
    calibrated_range,
)
from glow.passes.quantization.profiling.instrument_profile import (
    expose_profiles,
    functions_of,
    instrument_profile,
    value_names,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.schema import PRECISIONS
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.passes.rewriting.operations import all_operations

MOST_BATCHES = 4
"""Of random inputs: more tell little more of ranges."""

SYNTHETIC_STEPS = 1 << 29
"""Of the interpreter, for all batches but the first: some tenths of a second."""

KEPT_BYTES = 62 << 20
"""The most that glibc lets blocks raise its bound to are 64 MB."""

SEED = 0
MAX_LISTED = 5
MADE = "make a profile with glow profile"
PROFILE_HINT = "profile this network with glow profile"


def synthetic_inputs(function: FuncOp, generator: np.random.Generator) -> list[Array]:
    """Standard normal numbers for floats, zeros and ones for integers."""
    arrays: list[Array] = []
    for argument in function.body.block.args:
        dtype, shape = dtype_of(element_of(argument)), shape_of(argument)
        if dtype.kind in "biu":
            arrays.append(generator.integers(0, 2, shape).astype(dtype))
        else:
            arrays.append(generator.standard_normal(shape).astype(dtype))
    return arrays


def synthetic_batches(function: FuncOp) -> int:
    """How many random inputs a network is observed on: few where one takes long.

    Its values have many elements each then.
    """
    steps = sum(
        steps_of(op) for op in all_operations(function) if isinstance(op, NodeOp)
    )
    return max(1, min(MOST_BATCHES, SYNTHETIC_STEPS // max(steps, 1)))


def synthetic_profile(module: ModuleOp, calibration: str) -> Profile:
    """The profile of a module's only function on seeded random inputs (interpreted).

    It has what a calibration reads: of min-max no histograms. Warns of the random inputs.
    """
    (function,) = functions_of(module)
    batches = synthetic_batches(function)
    numbers = f"{batches} random input{'s' if batches > 1 else ''} (seed {SEED})"
    missing = "no profile and no ranges in the program"
    warnings.warn(f"{missing}: calibrating on {numbers}; {MADE}", stacklevel=2)
    generator = np.random.default_rng(SEED)
    profile = Profile()
    keep_freed_memory()
    with products_on_one_thread():
        for _ in range(batches):
            inputs = synthetic_inputs(function, generator)
            for name, array in observed_values(module, function, inputs):
                profile.observe(name, array, ranges_only=calibration == MIN_MAX)
            profile.batches += 1
    return profile


def keep_freed_memory() -> None:
    """Let the C library keep what one layer frees for the next, where it is glibc's.

    It gives memory back beyond twice the largest block that was ever freed; this one is never
    touched. A layer's arrays are blocks of some megabytes, and half of them were new pages.
    """
    np.empty(KEPT_BYTES // 2, np.uint8)


def observed_values(
    module: ModuleOp, function: FuncOp, inputs: Sequence[Array]
) -> Iterator[tuple[str, Array]]:
    """The float values of a function by name, each while it is there.

    Nodes one after the other need no interpreter of modules, which takes long to import.
    """
    names = value_names(function)
    if all(type(op) in FUNCTIONS for op in [*function.body.block.ops][:-1]):
        for value, array in _computed_values(function.body.block, inputs):
            if value in names:
                yield names[value], array
        return
    yield from _interpreted(module, inputs)


def _interpreted(
    module: ModuleOp, inputs: Sequence[Array]
) -> Iterator[tuple[str, Array]]:
    """The same of a function with branches, loops or calls."""
    from glow.interpreter import run

    copy = clone_module(module)
    instrument_profile(copy)
    (function,) = functions_of(copy)
    names = expose_profiles(function)
    yield from zip(names, run(copy, inputs, function.sym_name.data), strict=True)


def _computed_values(
    block: Block, inputs: Sequence[Array]
) -> Iterator[tuple[SSAValue, Array]]:
    """The arguments and results of nodes, which are let go when nobody reads them any more."""
    values: dict[SSAValue, Array] = {}
    values.update(zip(block.args, inputs, strict=True))
    yield from list(values.items())
    places = {op: number for number, op in enumerate(block.ops)}
    for op, place in places.items():
        if not isinstance(op, NodeOp):
            return
        results = evaluate_node(op, [values[value] for value in op.operands])
        values.update(zip(op.results, results, strict=True))
        yield from zip(op.results, results, strict=True)
        for value in (*op.operands, *op.results):
            if all(places[use.operation] <= place for use in value.uses):
                values.pop(value, None)


def listed(names: Sequence[str]) -> str:
    """The first few names in quotes, and how many more there are."""
    shown = ", ".join(f"'{name}'" for name in names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    return shown + (f" and {more} more" if more > 0 else "")


def known_range(value: SSAValue) -> Range | None:
    """The range that a node's results have on any data, if that is all of it."""
    return (0.0, 1.0) if isinstance(value.owner, glow.SoftmaxOp) else None


class Ranges:
    """Profiles of values; those that only move others' elements may lack one."""

    def __init__(
        self, profile: Profile, names: Mapping[SSAValue, str], calibration: str
    ) -> None:
        self._profile = profile
        self._names = names
        self._calibration = calibration

    def find(self, value: SSAValue) -> ValueProfile | None:
        """The profile of a value, or of the one whose elements it moves."""
        name = self._names.get(value)
        if name in self._profile.values:
            return self._profile.values[name]
        owner = value.owner
        if isinstance(owner, Operation) and isinstance(owner, MOVEMENT):
            return self.find(owner.operands[0])
        return None

    def name_of(self, value: SSAValue) -> str:
        """The name of a value."""
        return self._names[value]

    def require(self, values: Collection[SSAValue]) -> None:
        """Raise GlowError that names the values without a profile, or with another's."""
        missing = [self._names[v] for v in values if self.find(v) is None]
        if missing:
            raise GlowError(
                f"the profile does not fit the network: it lacks {listed(missing)}",
                hint=PROFILE_HINT,
            )
        for value in values:
            self._require_channels(value)

    def _require_channels(self, value: SSAValue) -> None:
        """Raise GlowError where a value of that name had other channels."""
        name, shape = self._names[value], shape_of(value)
        profile = self._profile.values.get(name)
        if profile is None or profile.channel_low is None:
            return
        channels = len(profile.channel_low)
        if channels not in shape:
            raise GlowError(
                f"the profile does not fit the network: '{name}' had {channels} "
                f"channels, and has the shape {list(shape)}",
                hint=PROFILE_HINT,
            )

    def range_of(self, values: Iterable[SSAValue], precision: str) -> Range:
        """The range that holds the calibrated ranges of several values."""
        lows, highs = [0.0], [0.0]
        for value in values:
            profile = self.find(value)
            assert profile is not None
            low, high = (
                profile.range
                or known_range(value)
                or calibrated_range(profile, self._calibration, PRECISIONS[precision])
            )
            lows.append(low)
            highs.append(high)
        return min(lows), max(highs)

    def precision_of(self, values: Iterable[SSAValue], asked: str) -> str:
        """The widest precision that several values need, at least the one asked for."""
        found = [profile.precision for v in values if (profile := self.find(v))]
        known = [name for name in (asked, *found) if name is not None]
        return max(known, key=PRECISIONS.__getitem__)
