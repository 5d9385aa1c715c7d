"""The contract of a divided network.

    --verify-partition='devices=cpu:2GiB,interpreter unsupported=cpu=glow.softmax'

`main` has calls of parts only, so that parts have no circle, and each part is called once, names
its device, calls nothing itself, and has the variables that it reads and saves to itself. Each
device runs the nodes of its parts, and holds them: constants, what they take, and what lives
between their nodes. Devices are those of the module (`glow.devices`) unless they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICE, DEVICES, REPLICAS
from glow.dialects.glow.state import variables_of
from glow.dialects.locations import place_of
from glow.passes.graph.partition.calls import called_parts
from glow.passes.graph.partition.devices import (
    PartitionDevice,
    device_named,
    parse_devices,
)
from glow.passes.graph.partition.graph import UnitGraph, strings
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.options import parse_unsupported
from glow.passes.graph.partition.parts import Part
from glow.passes.graph.partition.problem import Problem, Refused, too_large
from glow.passes.rewriting.contract import GraphPass


def verify_parts(module: ModuleOp) -> None:
    """Raise GlowError for a module that is not a main of calls of parts."""
    owners: dict[str, str] = {}
    for _, function in called_parts(module):
        _verify_part(function, owners)


def _verify_part(function: func.FuncOp, owners: dict[str, str]) -> None:
    """Raise GlowError for a part that is none; `owners` are the parts of variables."""
    name = function.sym_name.data
    if not isinstance(function.attributes.get(DEVICE), StringAttr):
        raise GlowError(
            f"@{name} has no device",
            location=place_of(function),
            hint='a part has the attribute glow.device = "cpu:0"',
        )
    for op in function.walk():
        if isinstance(op, func.CallOp):
            raise GlowError(
                f"@{name} calls @{op.callee.string_value()}; only main calls parts",
                location=place_of(op),
            )
    for variable, read in variables_of(function).items():
        other = owners.setdefault(variable, name)
        if other != name:
            raise GlowError(
                f"variable '{variable}' is in @{other} and in @{name}",
                location=place_of(read),
                hint="a variable is in one part only",
            )


def verify_devices(
    module: ModuleOp, devices: tuple[PartitionDevice, ...], refused: Refused
) -> None:
    """Raise GlowError for a part whose device does not run it, or does not hold it."""
    taken = [0] * len(devices)
    for _, function in called_parts(module):
        graph = UnitGraph(function)
        units = tuple(range(len(graph)))
        for name in (*strings(function, DEVICE), *strings(function, REPLICAS)):
            number = device_named(name, devices)
            problem = Problem(graph, devices, refused)
            problem.check([Part(number, units)])
            taken[number] += MemoryUse(graph, units).nbytes
            if not problem.fits(number, taken[number]):
                raise too_large(graph, units[-1], [devices[number]], taken[number])


def devices_of(module: ModuleOp) -> tuple[PartitionDevice, ...]:
    """The devices that a module says it is divided between; GlowError where it does not."""
    devices = listed_devices(module)
    if not devices:
        raise GlowError(
            "the module does not say which devices it is divided between",
            hint="such as --verify-partition=devices=cpu:2GiB,interpreter",
        )
    return devices


def listed_devices(module: ModuleOp) -> tuple[PartitionDevice, ...]:
    """The devices that a module lists."""
    texts = module.attributes.get(DEVICES)
    if not isa(texts, ArrayAttr[StringAttr]):
        return ()
    return parse_devices([text.data for text in texts])


@dataclass(frozen=True)
class VerifyPartitionPass(GraphPass):
    """Verify the contract of a divided network."""

    name = "verify-partition"

    devices: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        verify_parts(op)
        devices = parse_devices(self.devices) if self.devices else devices_of(op)
        verify_devices(op, devices, parse_unsupported(self.unsupported))
