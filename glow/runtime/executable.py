"""A linked network: native code with its constants, ready to run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.runtime.buffers import ALIGNMENT, aligned_empty, aligned_zeros
from glow.runtime.linking.library import Library
from glow.runtime.threads.thread_pool import ThreadPool

Bytes = npt.NDArray[np.uint8]

ENTRY = "main"


class Executable:
    """Native code of one network.

    The entry is `entry(constants, mutables, activations, thread, threads, barrier)`:
    pointers to three byte buffers aligned to 64, the number of this thread and of all,
    and the barrier. All threads run it. Calls from several Python threads at once are
    safe as long as they use different activations.
    """

    def __init__(
        self,
        objects: Sequence[bytes],
        constants: Bytes,
        mutables_size: int,
        activations_size: int,
        pool: ThreadPool,
        entry: str = ENTRY,
    ):
        """`pool` runs the calls."""
        self._pool = pool
        imports = {"glow_barrier": pool.barrier_address}
        self._library = Library(objects, [entry], imports)
        self._program = self._library.address(entry)
        self.constants = constants
        self.mutables_size = mutables_size
        self.activations_size = activations_size
        verify_buffer("constants", constants, constants.nbytes)
        self._constants_address: int = constants.ctypes.data

    def new_mutables(self) -> Bytes:
        """Returns a buffer for `run`: inputs, outputs and state, which is zeros."""
        return aligned_zeros(self.mutables_size)

    def new_activations(self) -> Bytes:
        """Returns a buffer for `run`: intermediate results."""
        return aligned_empty(self.activations_size)

    def run(self, mutables: Bytes, activations: Bytes, threads: int = 1) -> int:
        """Runs the network once; returns the number of threads that took part.

        Raises GlowError for a buffer that is too small or not aligned.
        """
        verify_buffer("mutables", mutables, self.mutables_size)
        verify_buffer("activations", activations, self.activations_size)
        return self.run_at(mutables.ctypes.data, activations.ctypes.data, threads)

    def run_at(self, mutables: int, activations: int, threads: int) -> int:
        """Runs the network once on buffers at addresses, which nobody looks at again."""
        return self._pool.run(
            self._program, self._constants_address, mutables, activations, threads
        )


def verify_buffer(name: str, buffer: Bytes, size: int) -> None:
    """Raises GlowError unless native code can use a buffer of `size` bytes."""
    if buffer.dtype != np.uint8 or not buffer.flags.c_contiguous:
        raise GlowError(f"buffer '{name}' must be contiguous bytes")
    if buffer.nbytes < size:
        raise GlowError(f"buffer '{name}' has {buffer.nbytes} bytes, needs {size}")
    if size and buffer.ctypes.data % ALIGNMENT:
        raise GlowError(f"buffer '{name}' must be aligned to {ALIGNMENT} bytes")
