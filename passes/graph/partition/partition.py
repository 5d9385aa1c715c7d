"""Divides the graph of `main` between devices.

    --partition='devices=cpu:2GiB,interpreter strategy=user map=fc=interpreter'

`strategy` chooses a device for each node:

| strategy | by                                                    |
|----------|-------------------------------------------------------|
| `user`   | `map`: names of nodes to devices, or a JSON file      |

The result is text that is compiled part by part (`glow.host`), or as a whole: `inline-parts`
undoes it. It is best divided behind the graph passes, which see the whole network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICES
from glow.passes.graph.partition.calls import functions_of, is_divided
from glow.passes.graph.partition.devices import PartitionDevice, parse_devices
from glow.passes.graph.partition.graph import UnitGraph, check_divisible
from glow.passes.graph.partition.outline import outline
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.user import parse_map, user_devices
from glow.passes.rewriting.contract import GraphPass


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


@dataclass(frozen=True)
class PartitionPass(GraphPass):
    """Divide `main` into a function for each part; see the module."""

    name = "partition"

    devices: tuple[str, ...] = ()
    strategy: Literal["user"] = "user"
    map: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        named = parse_map(self.map)
        devices = parse_devices(self.devices)
        if not devices:
            raise GlowError(
                "partition needs devices", hint="such as devices=cpu:2GiB,interpreter"
            )
        graph = UnitGraph(function_to_divide(op))
        parts = form_parts(graph, user_devices(graph, devices, named))
        outline(op, graph, parts, [device.name for device in devices])
        op.attributes[DEVICES] = device_texts(devices)


def device_texts(devices: tuple[PartitionDevice, ...]) -> ArrayAttr[StringAttr]:
    """The attribute of a module that is divided between devices."""
    return ArrayAttr([StringAttr(str(device)) for device in devices])
