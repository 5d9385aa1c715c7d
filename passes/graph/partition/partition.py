"""Divides the graph of `main` between devices.

    --partition='devices=cpu:2GiB,interpreter strategy=heterogeneous'

The strategy chooses a device for each node:

| strategy        | by                                                                   |
|-----------------|----------------------------------------------------------------------|
| `heterogeneous` | the first device that runs the node                                  |
| `memory`        | the memory of the devices, as few of them as hold the network        |
| `balance`       | equal times by the cost model within a `tolerance`, and few bytes    |
| `pipeline`      | the least time of the slowest of as many stages as there are devices |
| `user`          | `map=conv1=cpu:0,fc=interpreter`, names of nodes; or a JSON file     |

`unsupported=npu=glow.softmax` names what a kind of device should not get, beside what it cannot
run. With `saturate` devices that are left over get copies (`glow.replicas`).

The result is text that is compiled part by part (`glow.host`), or as a whole: `inline-parts`
undoes it. Estimates of time and memory are those of the nodes that are there, so graph passes
come before.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from glow.passes.graph.partition.balance import TOLERANCE
from glow.passes.graph.partition.devices import parse_devices
from glow.passes.graph.partition.divide import Division, divide
from glow.passes.graph.partition.options import parse_unsupported
from glow.passes.graph.partition.user import parse_map
from glow.passes.rewriting.contract import GraphPass


@dataclass(frozen=True)
class PartitionPass(GraphPass):
    """Divide `main` into a function for each part; see the module."""

    name = "partition"

    devices: tuple[str, ...] = ()
    strategy: str = "heterogeneous"
    map: tuple[str, ...] = ()
    tolerance: float = TOLERANCE
    unsupported: tuple[str, ...] = ()
    saturate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        division = Division(
            parse_devices(self.devices),
            self.strategy,
            parse_map(self.map) if self.map else {},
            self.tolerance,
            parse_unsupported(self.unsupported),
            saturate=self.saturate,
        )
        divide(op, division)
