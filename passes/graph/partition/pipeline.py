"""Strategy `pipeline`: stages that work on successive requests at once.

    --partition='devices=cpu*2 strategy=pipeline'

The slowest stage says how many requests a second there are. So its time, with the copies of what
it reads from other stages, is made as small as can be, and bytes only decide between cuts of the
same time. A stage for each device, in their order; with devices that no stage is worth, fewer.
"""

from __future__ import annotations

from glow.passes.graph.partition.balance import balanced
from glow.passes.graph.partition.problem import Problem

SAME_TIME = 0.01
"""The share by which estimates of one time may differ."""


def pipeline_devices(problem: Problem) -> list[int]:
    """The device of each unit; raises GlowError where the devices do not hold the network."""
    return balanced(problem, SAME_TIME, with_transfer=True)
