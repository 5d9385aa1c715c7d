"""WebAssembly in this process, by wasmtime: `glow.load(folder, emulate=True)`.

Each call has a memory of its own. The three regions lie behind the data of the module, and the
bytes around them hold a pattern: a call that writes there is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError

try:
    import wasmtime
except ImportError as missing:
    raise GlowError(
        "wasmtime is missing, which runs WebAssembly",
        hint="pip install 'glow-xdsl[bundles]'",
    ) from missing

Bytes = npt.NDArray[np.uint8]

PAGE = 65536
GUARD = b"\xa5" * 64


class WasmCode:
    """The module of a bundle."""

    def __init__(self, folder: Path, name: str, alignment: int) -> None:
        path = folder / f"{name}.wasm"
        self._engine = wasmtime.Engine()
        self._alignment = alignment
        try:
            self._module = wasmtime.Module(self._engine, path.read_bytes())
        except OSError as error:
            raise GlowError(
                f"{path}: {(error.strerror or str(error)).lower()}"
            ) from error
        except wasmtime.WasmtimeError as error:
            raise GlowError(f"{path} is no module: {_first_line(error)}") from error

    def linked_constants(self, name: str, size: int) -> bytes:
        """The weights that the module holds."""
        instance = Instance(self._engine, self._module)
        return instance.read(instance.number(f"{name}_constants"), size)

    def call(
        self, symbol: str, constants: Bytes, mutables: Bytes, activations: Bytes
    ) -> int:
        """What an entry returns; raises GlowError for a trap, or a write elsewhere."""
        instance = Instance(self._engine, self._module)
        regions = (constants, mutables, activations)
        places = instance.place(regions, self._alignment)
        try:
            result = instance.call(symbol, places)
        except wasmtime.Trap as error:
            raise GlowError(f"{symbol} stopped: {_first_line(error)}") from error
        for region, place in zip(regions, places, strict=True):
            before = instance.read(place - len(GUARD), len(GUARD))
            after = instance.read(place + region.nbytes, len(GUARD))
            if (before, after) != (GUARD, GUARD):
                raise GlowError(f"{symbol} wrote outside of its regions")
            region[:] = np.frombuffer(instance.read(place, region.nbytes), np.uint8)
        return result


class Instance:
    """A module with its memory."""

    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module) -> None:
        self._store = wasmtime.Store(engine)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        memory = self._exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self._memory = memory

    def number(self, name: str) -> int:
        """An exported number."""
        exported = self._exports[name]
        assert isinstance(exported, wasmtime.Global)
        return int(exported.value(self._store))

    def place(self, regions: Sequence[Bytes], alignment: int) -> list[int]:
        """Copy regions into the memory, with a pattern around them; where each is."""
        places: list[int] = []
        end = self.number("__heap_base")
        for region in regions:
            start = end + len(GUARD)
            start += -start % alignment
            places.append(start)
            end = start + region.nbytes + len(GUARD)
        missing = end - self._memory.data_len(self._store)
        self._memory.grow(self._store, max(0, -(-missing // PAGE)))
        for region, place in zip(regions, places, strict=True):
            content = GUARD + region.tobytes() + GUARD
            self._memory.write(self._store, bytearray(content), place - len(GUARD))
        return places

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the memory."""
        return bytes(self._memory.read(self._store, start, start + size))

    def call(self, name: str, arguments: Sequence[int]) -> int:
        """What an exported function returns."""
        function = self._exports[name]
        assert isinstance(function, wasmtime.Func)
        result: object = function(self._store, *arguments)
        assert isinstance(result, int)
        return result


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
