"""What a learned model sees of a kernel: numbers of its specification, configuration and core.

Sizes are logarithms, so that trees split them evenly. What a kind of kernel does not have is 0.
Configurations of one kernel differ in the tile, its remainders and what it loads; kernels differ in
their sizes, in bytes and in shares of the caches; machines in what a core does in a cycle.

To add a feature: its name and function in `FEATURES`, and measure again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log2, prod
from typing import Any, cast

from glow.backends.cpu.dialect.config import USUAL_PREFETCH
from glow.backends.cpu.tuning.families import FAMILIES
from glow.lowering.target.target import Target

F32_BYTES = 4


@dataclass(frozen=True)
class Kernel:
    """A configured kernel, as features ask for it."""

    spec: Any
    config: Any
    target: Target

    def size(self, *names: str) -> int:
        """The first size of the specification with one of the names; 0 without."""
        for name in names:
            value: Any = getattr(self.spec, name, 0)
            if value:
                numbers = cast(
                    "tuple[int, ...]", value if isinstance(value, tuple) else (value,)
                )
                return prod(numbers)
        return 0

    def chosen(self, *names: str) -> int:
        """The first field of the configuration with one of the names; 0 without."""
        for name in names:
            value: object = getattr(self.config, name, None)
            if isinstance(value, tuple):
                return cast("tuple[int, ...]", value)[0] if value else 0
            if isinstance(value, int):
                return int(value)
        return 0

    @property
    def window(self) -> Any:
        """That of a convolution or of planes; None of others."""
        return getattr(self.spec, "window", None)

    @property
    def height(self) -> int:
        """The rows or pixels of a register tile."""
        return self.chosen("pixels", "rows", "score_rows", "channels")

    @property
    def width(self) -> int:
        """The registers of columns or channels of a register tile."""
        return max(1, self.chosen("blocks", "vectors", "score_blocks"))

    @property
    def run(self) -> int:
        """The rows or pixels that tiles of that height cover."""
        if self.window is not None:
            plane = self.window.output
            return prod(plane) if self.window.is_pointwise else plane[1]
        return self.size("rows", "tile_rows")

    @property
    def columns(self) -> int:
        """The registers of columns or output channels."""
        lanes = self.target.lanes(32)
        return -(-self.size("columns", "out_channels", "channels", "units") // lanes)

    @property
    def weights(self) -> int:
        """The elements of the operand that all rows read."""
        if packed := self.size("packed_weights"):
            return packed
        return self.size("depth") * self.size("columns")

    @property
    def outputs(self) -> int:
        """The elements of the result."""
        columns = self.size("columns", "out_channels", "channels")
        if self.window is not None:
            return self.size("batch") * columns * prod(self.window.output)
        plane = self.size("output_plane") or self.size("rows")
        return max(1, self.size("batch")) * columns * plane


def _log(value: float) -> float:
    return log2(1 + value)


def _tail(run: int, size: int) -> float:
    """The share of tiles of a size that cover a run in vain."""
    return -(-run // size) * size / run - 1 if run and size else 0.0


def _loads(kernel: Kernel) -> float:
    """Loads a multiply-add of a tile, in units of what the core does in a cycle."""
    core, registers = kernel.target.core, max(1, kernel.height * kernel.width)
    loads = (kernel.height + kernel.width) / core.loads_per_cycle
    return loads * core.fma_per_cycle / registers


FEATURES: Mapping[str, Callable[[Kernel], float]] = {
    "family": lambda k: list(FAMILIES).index(type(k.spec).__name__),
    "operations": lambda k: _log(k.size("operations")),
    "depth": lambda k: _log(k.size("depth", "in_channels", "units", "group")),
    "run": lambda k: _log(k.run),
    "columns": lambda k: _log(k.columns),
    "batch": lambda k: _log(k.size("batch")),
    "kernel": lambda k: prod(k.window.kernel) if k.window else k.size("kernel"),
    "stride": lambda k: k.window.strides[1] if k.window else 1,
    "height": lambda k: k.height,
    "width": lambda k: k.width,
    "registers": lambda k: k.height * k.width / k.target.num_vector_registers,
    "chains": lambda k: k.height * k.width / k.target.core.chains,
    "run tail": lambda k: _tail(k.run, k.height),
    "column tail": lambda k: _tail(k.columns, k.width),
    "last width": lambda k: k.columns % k.width / k.width,
    "loads": _loads,
    "segments": lambda k: k.chosen("segments"),
    "whole rows": lambda k: k.chosen("whole_rows"),
    "block rows": lambda k: _log(k.chosen("block_rows", "row_blocks")),
    "fused": lambda k: k.chosen("fused"),
    "order": lambda k: len(getattr(k.config, "order", "")),
    "second tile": lambda k: k.chosen("value_rows") * k.chosen("value_blocks"),
    "weights in L2": lambda k: _log(F32_BYTES * k.weights / k.target.l2_bytes),
    "weights in L1": lambda k: _log(F32_BYTES * k.weights / k.target.l1_bytes),
    "panel in L1": lambda k: _log(
        F32_BYTES * k.weights * k.width / max(1, k.columns) / k.target.l1_bytes
    ),
    "outputs in L2": lambda k: _log(F32_BYTES * k.outputs / k.target.l2_bytes),
    "intensity": lambda k: _log(k.size("operations") / (1 + k.weights + k.outputs)),
    "multiply-adds a cycle": lambda k: k.target.core.fma_per_cycle,
    "loads a cycle": lambda k: k.target.core.loads_per_cycle,
    "lanes": lambda k: k.target.lanes(32),
    "memory": lambda k: k.target.core.memory_bytes_per_cycle,
    "L2 rate": lambda k: k.target.core.l2_bytes_per_cycle,
    "chunk": lambda k: k.chosen("chunk"),
    "prefetch": lambda k: (
        getattr(k.config, "prefetch", USUAL_PREFETCH) - USUAL_PREFETCH
    ),
    "streams": lambda k: getattr(k.config, "streams", 1) - 1,
}
"""By their names, in their order: that of a new knob is the last, and 0 where nobody turns it, so
that records of before have it too."""


def features(spec: Any, config: Any, target: Target) -> list[float]:
    """The numbers of a configured kernel."""
    kernel = Kernel(spec, config, target)
    return [round(float(feature(kernel)), 4) for feature in FEATURES.values()]


def peak_seconds(spec: Any, target: Target) -> float:
    """The seconds that a kernel's multiply-adds take at the peak of a core, at least one."""
    core = target.core
    rate = 2 * core.fma_per_cycle * target.lanes(32) * core.clock_hertz
    return max(1, getattr(spec, "operations", 0)) / rate
