"""The kernels of a backend: which of them serves which instruction.

Passes and reports ask the backend that a program is for. One that derives from the CPU
backend adds rows to our table and replaces rows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from xdsl.ir import Operation

from glow.backends.backend import get_backend
from glow.backends.cpu.program.program import KernelSelector
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp

Selectors: TypeAlias = Mapping[type[Operation], KernelSelector]


def _node_of(key: type[Operation]) -> type[Operation]:
    """The node that an instruction follows from; any other operation itself."""
    if issubclass(key, instr.InstructionOp):
        return instr.NODE_OF.get(key, key)
    return key


class KernelRows(Mapping[type[Operation], KernelSelector]):
    """Rows by the class of a node or of an instruction, as a table by instructions.

    An instruction that follows from a node is a class only once something asks for it: to
    make all of them would take a fiftieth of the time to compile a small network.
    """

    def __init__(self, rows: Selectors) -> None:
        self._rows = {_node_of(key): row for key, row in rows.items()}

    def __getitem__(self, instruction: type[Operation]) -> KernelSelector:
        return self._rows[_node_of(instruction)]

    def __iter__(self) -> Iterator[type[Operation]]:
        for key in self._rows:
            yield instr.instruction_of(key) if issubclass(key, NodeOp) else key

    def __len__(self) -> int:
        return len(self._rows)


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
