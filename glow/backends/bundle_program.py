"""What a backend gives for a bundle: LLVM IR of its functions, and the bytes beside them.

Each network is one function on the three memory regions of a bundle. Without threads a call
makes all work items by itself, and has no barrier:

    define void @main_NAME(ptr %constants, ptr %mutables, ptr %activations,
                           i64 %thread, i64 %threads, ptr %barrier)

Numbers of threads are as wide as addresses. All other functions are its kernels, by the name
that reports give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func

from glow.options import CompileOptions

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class BundleRequest:
    """How the functions of a bundle are to be made."""

    options: CompileOptions
    threaded: bool = False
    """Whether the threads of the caller share the work items of a call."""
    debug: bool = False
    """Whether mains tell of each kernel call (`DebugCall`); they are for one thread then."""


@dataclass(frozen=True)
class Place:
    """Where an input, output or variable lies in the mutables, and what it is."""

    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True)
class StatePlace(Place):
    """Where a variable lies, whose value a call leaves to the next one."""

    initial: int | None = None
    """Where in the constants its first value is; None for zeros."""


@dataclass(frozen=True)
class DebugCall:
    """A kernel call that a main tells of: it calls `name` before and after.

    That takes the addresses of the buffers, and 0 before the kernel, 1 after it.
    """

    name: str
    kernel: str
    sizes: Sequence[int]
    """The bytes of the buffers."""
    writes: int
    """How many of the first buffers the kernel writes."""


@dataclass(frozen=True)
class Largest:
    """What takes most of a region: its name and its bytes."""

    name: str
    nbytes: int


@dataclass(frozen=True)
class BundleFunction:
    """The function of one network."""

    name: str
    inputs: Sequence[Place]
    outputs: Sequence[Place]
    mutables_bytes: int
    activations_bytes: int
    reports: Sequence[tuple[str, str]] = ()
    """The errors that calls note in a byte each: the node, and what is wrong."""
    reports_offset: int = 0
    """Where in the mutables the first of those bytes is."""
    calls: Sequence[DebugCall] = ()
    largest_weight: Largest = Largest("none", 0)
    largest_buffer: Largest = Largest("none", 0)
    """Of the arena: named by the node that writes it."""
    variables: Sequence[StatePlace] = ()


@dataclass(frozen=True)
class LoopProgram:
    """The same, with its functions as loops: kernels, what they call, and the mains."""

    parts: Sequence[func.FuncOp]
    functions: Sequence[BundleFunction]
    constants: Bytes
    kernels: Mapping[str, str]
    alignment: int


@dataclass(frozen=True)
class BundleProgram:
    """The functions of some networks, with all that they call, and their weights."""

    text: str
    """LLVM IR."""
    functions: Sequence[BundleFunction]
    constants: Bytes
    """The weights of all networks, in the order in which kernels read them."""
    kernels: Mapping[str, str]
    """The names of the kernels, each with a node that calls it (empty where unknown)."""
    alignment: int
    """Of the three regions, in bytes."""
