"""Compiled models as bytes, for `pickle`: what the cache of models stores, and for whom.

The bytes hold native code. Like any pickle they are for readers who trust their writer.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from io import BytesIO
from typing import TypeVar

from glow.backends.backend import CompiledFunction, get_backend
from glow.dialects.errors import GlowError
from glow.runtime.buffers import is_aligned
from glow.runtime.caches.machine import machine
from glow.runtime.caches.model_file import (
    StoredModel,
    model_in,
    read_model,
    write_model,
)
from glow.runtime.caches.object_cache import versions
from glow.tensor_info import Signature

Model = TypeVar("Model")


RunsOn = tuple[int | None, str | None]
"""The threads of a function's calls and its device, where these are known."""


def runs_on(function: CompiledFunction) -> RunsOn:
    """What a function of another process is to have in common with this one."""
    return getattr(function, "threads", None), getattr(function, "device", None)


def reader_digest(backend: str) -> str:
    """Tells apart the versions and processors that cannot run each other's models."""
    parts = (versions(), machine(), get_backend(backend).version())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def model_bytes(
    signature: Signature, function: CompiledFunction, backend: str
) -> tuple[str, str, memoryview, RunsOn]:
    """What `model_from_bytes` takes; raises GlowError where the backend stores nothing."""
    program = get_backend(backend).stored_program(function) if backend else None
    if program is None:
        raise GlowError(
            f"a model that a {type(function).__name__} runs cannot be pickled",
            hint="pickle what it was compiled from, or compile it for the backend cpu",
        )
    file = BytesIO()
    write_model(StoredModel(signature, program), file)
    data = file.getbuffer().toreadonly()
    return backend, reader_digest(backend), data, runs_on(function)


def model_from_bytes(
    build: Callable[[Signature, CompiledFunction, str], Model],
    backend: str,
    reader: str,
    data: bytes | memoryview,
    where: RunsOn,
) -> Model:
    """The model again, built anew; raises GlowError where this process cannot run it.

    Its constants stay where they are in data that is a view at an aligned address: what a
    pickle has outside of it (PEP 574).
    """
    if reader != reader_digest(backend):
        raise GlowError(
            "the pickled model was compiled by another version or for another processor",
            hint="compile it again",
        )
    if isinstance(data, memoryview) and is_aligned(data):
        stored = model_in(data)
    else:
        stored = _read(data)
    if stored is None or stored.program is None:
        raise GlowError("the pickled model is damaged")
    assert isinstance(stored.signature, Signature)
    function = get_backend(backend).load_program(stored.program, *where)
    return build(stored.signature, function, backend)


def _read(data: bytes | memoryview) -> StoredModel | None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return read_model(file.fileno())
