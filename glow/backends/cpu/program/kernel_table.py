"""The kernels of a backend: which of them serves which instruction.

Passes and reports ask the backend that a program is for. One that derives from the CPU
backend adds rows to our table and replaces rows of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from xdsl.ir import Operation

from glow.backends.backend import get_backend
from glow.backends.cpu.program.program import KernelSelector
from glow.dialects.errors import GlowError

Selectors: TypeAlias = Mapping[type[Operation], KernelSelector]


@dataclass(frozen=True)
class KernelTable:
    """The selectors of a backend's kernels by the class of the instruction."""

    backend: str
    selectors: Selectors
    version: str = ""
    """Of the code that builds the kernels: caches tell by it those of other backends from
    ours, which are named by their specification alone."""


@runtime_checkable
class HasKernels(Protocol):
    """A backend whose programs are calls of kernels."""

    def kernel_table(self) -> KernelTable:
        """Its kernels."""
        ...


def kernel_table(backend: str) -> KernelTable:
    """The kernels of the backend of that name; raises GlowError for one that has none."""
    found = get_backend(backend)
    if not isinstance(found, HasKernels):
        raise GlowError(
            f"backend '{backend}' has no kernels for instructions",
            hint="one that derives from CpuBackend has",
        )
    return found.kernel_table()
