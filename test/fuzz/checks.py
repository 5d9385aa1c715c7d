"""What must hold of a random graph: passes, alone and in any order, keep its results.

Passes that arrange sums anew change roundings, which some graphs magnify (a step function,
a difference of equal numbers). How much a graph does is measured: its own results with
noise on every node. Where the noise shows, only passes that keep the bits are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from idioms import IDIOMS
from random_graphs import Array, random_graph
from single_nodes import STEPS
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

from glow.backends.backend import get_backend
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.compiler import context
from glow.dialects.weights import clone_module
from glow.interpreter import evaluate_node, run
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.rewriting.contract import (
    BITS,
    VALUES,
    check_ensures,
    check_requires,
    preserved_by,
)
from glow.tools.opt.pass_flags import parse_passes
from glow.universe import get_glow_passes
from glow.verification import verify_module

AVAILABLE = {**get_all_passes(), **get_glow_passes()}

NOISE = {2: 4e-3, 4: 2e-6, 8: 1e-13}
"""Relative noise on every node's results, some roundings of each float type."""
WELL_BEHAVED = 1e-3
"""Noise may change a result by so much of the largest element."""
MARGIN = 50
"""How much more than the noise a pass may change."""

ON_PURPOSE = ("convert-placeholders", "differentiate", "training-mode")
"""Passes that change what a function takes, gives or computes."""
ALONE = (
    "canonicalize", "cse", "dce", *(name for name in GRAPH_PASSES if name not in ON_PURPOSE),
    "eliminate-empty-tensors", "promote-types", "lower-nodes{backend=cpu}",
    "lower-nodes{backend=none}",
)  # fmt: skip
"""The passes on graphs."""
TARGETS = ("avx512", "avx2", "scalar")


Noise = Callable[[Operation, Array], Array]
"""What is made of a result of a node."""


def graph_of(seed: int) -> tuple[ModuleOp, list[Array]]:
    """The graph of a seed; half of its steps are idioms."""
    return random_graph(seed, (*STEPS, *IDIOMS * 4))


def named(spec: str) -> ModulePass:
    """The pass that a specification names."""
    (found,) = parse_passes(spec, AVAILABLE, {})
    return found


@dataclass
class Reference:
    """A graph's results, and how far passes may change them."""

    module: ModuleOp
    inputs: list[Array]
    results: list[Array] = field(init=False)
    noisy: list[Array] = field(init=False)

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.results = evaluate(self.module, self.inputs)
            self.noisy = evaluate(self.module, self.inputs, rounding_noise(1))

    @property
    def is_well_behaved(self) -> bool:
        """Whether results are finite, and noise hardly shows."""
        return all(
            np.all(np.isfinite(a.astype(np.float64)))
            and deviation(b, a) <= WELL_BEHAVED * scale_of(a)
            for a, b in zip(self.results, self.noisy, strict=True)
        )

    def check(self, module: ModuleOp, preserves: str, target: str = "avx512") -> None:
        """Fail unless a module made of the graph has its results."""
        own = cpu_functions(packings_of(TargetPacker(Target.from_string(target))))
        actual = run(module, self.inputs, own=own)
        assert len(actual) == len(self.results), "another number of results"
        for after, before, noisy in zip(actual, self.results, self.noisy, strict=True):
            assert after.shape == before.shape, f"{after.shape} != {before.shape}"
            assert after.dtype == before.dtype, f"{after.dtype} != {before.dtype}"
            if preserves == BITS:
                np.testing.assert_array_equal(after, before)
                continue
            smallest = NOISE[4 if before.dtype.kind in "biu" else before.dtype.itemsize]
            allowed = MARGIN * max(
                deviation(noisy, before), smallest * scale_of(before)
            )
            found = deviation(after, before)
            assert found <= allowed, f"off by {found}, allowed are {allowed}"


def deviation(one: Array, other: Array) -> float:
    """The largest difference."""
    with np.errstate(all="ignore"):
        difference = np.abs(one.astype(np.float64) - other.astype(np.float64))
    worst = float(np.max(difference, initial=0.0))
    return worst if worst == worst else float("inf")


def scale_of(array: Array) -> float:
    """The largest element."""
    return float(np.max(np.abs(array.astype(np.float64)), initial=1e-3))


def evaluate(
    module: ModuleOp, inputs: Sequence[Array], noise: Noise = lambda op, array: array
) -> list[Array]:
    """A straight graph's results, with noise on every result of every node."""
    function = cast(FuncOp, module.body.block.first_op)
    block = function.body.block
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, ReturnOp):
            return [np.array(operand) for operand in operands]
        for result, array in zip(op.results, evaluate_node(op, operands), strict=True):
            values[result] = noise(op, array)
    return []


def rounding_noise(seed: int) -> Noise:
    """Noise of some roundings on floats."""
    random = np.random.default_rng(seed)

    def noise(_: Operation, array: Array) -> Array:
        if array.dtype.kind in "biu":
            return array
        relative = NOISE[array.dtype.itemsize] * random.standard_normal(array.shape)
        return np.asarray(array * (1 + relative)).astype(array.dtype)

    return noise


def weakest(passes: Sequence[ModulePass]) -> str:
    """What several passes keep together."""
    kept = {preserved_by(each) for each in passes}
    return VALUES if VALUES in kept else BITS


def apply(module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Run passes under all checks but that of the results."""
    for each in passes:
        check_requires(each, module)
        each.apply(context(), module)
        verify_module(module, f"after {each.name}")
        check_ensures(each, module)


class Wrong(AssertionError):
    """A pass (or passes) that broke a graph."""


def try_passes(
    reference: Reference, specs: Sequence[str], target: str, what: str
) -> bool:
    """Whether passes could be compared on a graph; raises Wrong if they break it."""
    passes = [named(spec) for spec in specs]
    preserves = weakest(passes)
    if preserves != BITS and not reference.is_well_behaved:
        return False
    module = clone_module(reference.module)
    try:
        apply(module, passes)
        reference.check(module, preserves, target)
    except Exception as error:
        raise Wrong(f"{what}: {describe(error)} after {','.join(specs)}") from error
    return True


def describe(error: Exception) -> str:
    """The kind and the first words of an error."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def check_alone(seed: int, reference: Reference) -> int:
    """Each pass alone; how many were compared."""
    return sum(
        try_passes(reference, [spec], "avx512", f"seed {seed}") for spec in ALONE
    )


def check_orders(seed: int, reference: Reference) -> int:
    """Passes in a random order, some several times."""
    random = np.random.default_rng(seed)
    picked = random.choice([s for s in ALONE if "{" not in s], 12)
    specs = [*map(str, picked), str(random.choice(("dce", *ALONE[-2:])))]
    return int(try_passes(reference, specs, "avx512", f"seed {seed}"))


def check_pipeline(seed: int, reference: Reference) -> int:
    """The whole pipeline for a target, down to planned instructions."""
    target = TARGETS[seed % len(TARGETS)]
    options = CompileOptions(target=target)
    pipeline = get_backend(options.backend).pipeline(options)
    compared, specs = 0, list[str]()
    for stage in ("graph", "lowered", "instr"):
        specs += map(str, pipeline[stage].passes)
        compared += try_passes(reference, specs, target, f"seed {seed} ({stage})")
    return compared


def check_seed(seed: int) -> int:
    """All checks of one seed; how many comparisons were made."""
    reference = Reference(*graph_of(seed))
    checks = (check_alone, check_orders, check_pipeline)
    return sum(check(seed, reference) for check in checks)
