"""The kernels of the CUDA backend: those for many threads, and behind them those of the CPU."""

from __future__ import annotations

from glow.backends.cpu.program.kernel_table import KernelTable, kernel_table
from glow.backends.cuda.selection import ThreadSelectors


def thread_table(backend: str, numerics: str) -> KernelTable:
    """The kernels of the backend of a name; those that it brings itself stay.

    Raises GlowError for unknown numerics.
    """
    table = kernel_table(backend)
    selectors = ThreadSelectors(table.selectors, numerics)
    return KernelTable(table.backend, selectors, table.version)
