"""The names of the attributes that tell about a function, which several levels share."""

from __future__ import annotations

INPUT_NAMES = "glow.input_names"
OUTPUT_NAMES = "glow.output_names"
"""What the network calls its inputs and outputs, in order."""

INPUT_COUNT = "glow.input_count"
"""On buffers: how many of the arguments are inputs; outputs follow."""

ARENA_BYTES = "glow.arena_bytes"
"""The bytes of the arena that a memory plan needs."""

LIVE_BYTES = "glow.live_bytes"
"""The largest number of bytes that are alive at once, which no plan can beat."""

RECOMPUTED = "glow.recomputed"
"""The names of the buffers that are computed again to keep to a limit of memory."""

DEVICE = "glow.device"
"""The device that runs a part of a divided network (`passes/graph/partition`)."""

REPLICAS = "glow.replicas"
"""More devices that have a copy of a part, so that several requests run side by side."""

DEVICES = "glow.devices"
"""Of a module: the devices that it is divided between, with the memory of each."""

PADDED_AXES = "glow.padded_axes"
"""Of arguments, results and constants: the axes that are longer than what a call has."""

FRONT_PADDED_AXES = "glow.front_padded_axes"
"""The same of axes that are padded before their first element."""

TRUE_IN_PADDING = "glow.true_in_padding"
"""Of a comparison: it holds for all that padding adds, as who made it knows and no pass can."""

BACKEND = "glow.backend"
"""Of a node: the backend that it is assigned to (`assign-backends`), which is printed as
`backend "npu"`."""
