"""Divides a module: makes the problem, asks a strategy, checks its answer, writes the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICES, REPLICAS
from glow.passes.graph.partition.balance import TOLERANCE, balance_devices
from glow.passes.graph.partition.calls import functions_of, is_divided
from glow.passes.graph.partition.cost import backend_seconds
from glow.passes.graph.partition.devices import PartitionDevice
from glow.passes.graph.partition.graph import UnitGraph, check_divisible
from glow.passes.graph.partition.heterogeneous import heterogeneous_devices
from glow.passes.graph.partition.memory import memory_devices
from glow.passes.graph.partition.outline import outline
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.pipeline import pipeline_devices
from glow.passes.graph.partition.problem import Problem, Refused, Seconds
from glow.passes.graph.partition.saturate import replicas
from glow.passes.graph.partition.user import user_devices
from glow.passes.rewriting.node_builder import erase_dead_nodes

STRATEGIES = ("heterogeneous", "memory", "balance", "pipeline", "user")


@dataclass(frozen=True)
class Division:
    """What is asked of a division; raises GlowError for what is no such choice."""

    devices: Sequence[PartitionDevice]
    strategy: str = "heterogeneous"
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the strategy `user`: names of nodes to names of devices."""
    tolerance: float = TOLERANCE
    """Of the strategy `balance`: how much slower than it could be the slowest part may be."""
    refused: Refused = field(default_factory=dict[str, frozenset[str]])
    spare: float = 0.0
    """The share of the memory of devices that parts leave."""
    saturate: bool = False
    """Whether devices that are left over get copies."""

    def __post_init__(self) -> None:
        if not self.devices:
            raise GlowError(
                "a division needs devices", hint="such as devices=cpu:2GiB,interpreter"
            )
        if self.strategy not in STRATEGIES:
            raise GlowError(
                f"unknown strategy '{self.strategy}'",
                hint=f"one of {', '.join(STRATEGIES)}",
            )
        if self.named and self.strategy != "user":
            raise GlowError(f"a map is for the strategy user, not {self.strategy}")
        if not 0 <= self.tolerance < float("inf"):
            raise GlowError(f"the tolerance must be 0 or more, not {self.tolerance}")
        for kind in self.refused:
            if kind not in {device.kind for device in self.devices}:
                raise GlowError(
                    f"there is no device of the kind '{kind}' to refuse for"
                )

    @property
    def usable_devices(self) -> list[PartitionDevice]:
        """The devices, with the memory that parts may take."""
        return [
            one
            if one.memory_bytes is None
            else replace(one, memory_bytes=int(one.memory_bytes * (1 - self.spare)))
            for one in self.devices
        ]


def divide(
    module: ModuleOp, division: Division, seconds: Seconds = backend_seconds
) -> None:
    """Divide the `main` of a module of the graph level, which is changed.

    Raises GlowError, which names the node, where the devices do not run or hold the network.
    """
    function = function_to_divide(module)
    erase_dead_nodes(module)  # Of which a part would have no results.
    graph = UnitGraph(function)
    problem = Problem(graph, division.usable_devices, division.refused, seconds)
    parts = form_parts(graph, choose_devices(problem, division))
    problem.check(parts)
    copies: Mapping[int, list[int]] = {}
    if division.saturate:
        copies = replicas(problem, parts)
    function.sym_name = StringAttr("main")
    function.properties.pop("sym_visibility", None)
    names = [device.name for device in division.devices]
    functions = outline(module, graph, parts, names)
    for part, function in zip(parts, functions, strict=False):
        if copies.get(part.device):
            held = [StringAttr(names[number]) for number in copies[part.device]]
            function.attributes[REPLICAS] = ArrayAttr(held)
    texts = [StringAttr(str(device)) for device in division.devices]
    module.attributes[DEVICES] = ArrayAttr(texts)


def choose_devices(problem: Problem, division: Division) -> list[int]:
    """The number of the device of each unit, by the division's strategy."""
    match division.strategy:
        case "user":
            return user_devices(problem.graph, problem.devices, division.named)
        case "memory":
            return memory_devices(problem)
        case "balance":
            return balance_devices(problem, division.tolerance)
        case "pipeline":
            return pipeline_devices(problem)
        case _:
            return heterogeneous_devices(problem)


def function_to_divide(module: ModuleOp) -> func.FuncOp:
    """The function `main`, or the only one; raises GlowError where that is divided already."""
    functions = functions_of(module)
    if "main" not in functions and len(functions) != 1:
        raise GlowError("the module needs a function 'main' to divide")
    if is_divided(module):
        raise GlowError(
            "the network is divided already", hint="--inline-parts makes it one again"
        )
    function = functions.get("main") or next(iter(functions.values()))
    check_divisible(function)
    return function
