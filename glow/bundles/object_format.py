"""Objects of whatever format: ELF, and that of WebAssembly."""

from __future__ import annotations

from glow.bundles.elf import ObjectSymbols
from glow.bundles.wasm.object_file import MAGIC, WasmSymbols


def symbols_of(code: bytes) -> ObjectSymbols | WasmSymbols:
    """What is in an object; raises ObjectFormatError for other bytes."""
    return WasmSymbols(code) if code[:4] == MAGIC else ObjectSymbols(code)
