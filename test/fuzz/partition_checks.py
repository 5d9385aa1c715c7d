"""What must hold of a divided graph: its parts, in order, compute the bits of the whole.

Any choice of devices for the units of a random graph gives parts; so do the strategies, on
devices of random memory, unless they say what does not fit. The interpreter runs `main` with its
calls, each part as a module of its own, and the graph that the parts are inlined to.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import numpy as np
from checks import Wrong, graph_of
from random_graphs import Array
from state_checks import StateWriter
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.weights import clone_module
from glow.frontends.mlir import parse_text
from glow.host.partition_plan import split_module
from glow.interpreter import run
from glow.passes.graph.partition.devices import PartitionDevice
from glow.passes.graph.partition.divide import (
    STRATEGIES,
    Division,
    divide,
    function_to_divide,
)
from glow.passes.graph.partition.graph import UnitGraph
from glow.passes.graph.partition.inline_parts import inline_parts
from glow.passes.graph.partition.outline import outline
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.verify_partition import verify_devices, verify_parts
from glow.universe import new_context
from glow.verification import verify_module

STATES = 3
"""Every so many seeds a program has variables."""

DEVICES = 3


def check_partition(seed: int) -> int:
    """The number of divisions that agree with the whole; Wrong for the first that does not."""
    module, inputs = program_of(seed)
    expected = results(module, inputs)
    choose = random.Random(seed)
    compared = 0
    for strategy in ("any", *STRATEGIES[:-1]):
        divided = clone_module(module)
        try:
            devices = divide_by(divided, strategy, choose)
        except GlowError as error:
            if re.search("more than there are", error.message) is None:
                raise Wrong(f"seed {seed}: {strategy}: {error}") from error
            continue
        try:
            check_parts(divided, devices, inputs, expected)
        except (AssertionError, GlowError) as error:
            raise Wrong(f"seed {seed}: {strategy}: {error}") from error
        compared += 1
    return compared


def program_of(seed: int) -> tuple[ModuleOp, Sequence[Array]]:
    """A random graph, or a program with variables, and its inputs."""
    if seed % STATES:
        return graph_of(seed)
    numbers = np.random.default_rng(seed)
    shapes = ((4, 4), (16,))
    inputs = [numbers.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    text = StateWriter(seed).text()
    return parse_text(new_context(), text.encode(), f"seed {seed}"), inputs


def divide_by(
    module: ModuleOp, strategy: str, choose: random.Random
) -> Sequence[PartitionDevice]:
    """Divide a module by a strategy, or by any choice; returns the devices."""
    memory = choose.choice([None, 1 << choose.randint(6, 16)])
    memory = None if strategy == "any" else memory
    devices = [PartitionDevice(f"cpu:{n}", "cpu", memory) for n in range(DEVICES)]
    if strategy != "any":
        divide(module, Division(devices, strategy))
        return devices
    graph = UnitGraph(function_to_divide(module))
    labels = [choose.randrange(DEVICES) for _ in graph.units]
    outline(module, graph, form_parts(graph, labels), [one.name for one in devices])
    return devices


def check_parts(
    module: ModuleOp,
    devices: Sequence[PartitionDevice],
    inputs: Sequence[Array],
    expected: Sequence[Array],
) -> None:
    """Fail unless a divided module is right, and computes what it computed before."""
    verify_module(module)
    verify_parts(module)
    verify_devices(module, tuple(devices), {})
    compare(results(module, inputs), expected, "main")
    plan = split_module(module)
    values = dict(zip(plan.inputs, inputs, strict=True))
    variables: dict[str, Array] = {}
    for part in plan.parts:
        verify_module(part.module)
        taken = [values[name] for name in part.takes]
        given = results(part.module, taken, variables)
        values |= zip(part.gives, given[: len(part.gives)], strict=True)
    kept = [variables[name] for name in sorted(variables)]
    compare([*(values[name] for name in plan.outputs), *kept], expected, "parts")
    inline_parts(module)
    verify_module(module)
    assert len([*module.ops]) == 1
    compare(results(module, inputs), expected, "inlined")


def results(
    module: ModuleOp, inputs: Sequence[Array], kept: dict[str, Array] | None = None
) -> list[Array]:
    """What a module computes, then what its variables, which `kept` gets, have afterwards."""
    variables: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        outputs = run(module, inputs, variables=variables)
    if kept is not None:
        kept |= variables
    return [*outputs, *(variables[name] for name in sorted(variables))]


def compare(actual: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Fail where a bit differs."""
    assert len(actual) == len(expected), f"{what}: another number of results"
    for after, before in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(after, before, what)
