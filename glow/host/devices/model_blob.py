"""A compiled model in an anonymous file, from which other processes load it.

Of a `CompiledModel` it is the model's file. Of a `SpecializedModel` it is its pickle (what it
compiles more programs from) and behind it, each from a page on, the files of the programs that it
has so far.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from glow.backends.backend import get_backend
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.shared_block import anonymous_file
from glow.model_bytes import runs_on
from glow.runtime.buffers import aligned_empty
from glow.runtime.caches.model_file import (
    StoredModel,
    model_in,
    read_model,
    write_model,
)
from glow.runtime.memory import memory_bytes
from glow.tensor_info import Signature

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.specialized_model import RunnableModel, SpecializedModel


PICKLE = "pickle"
"""What the blobs of models with open sizes are; their kinds say where everything is."""

COPIES = 16
"""A model of which so many do not fit into memory is mapped, not read."""


class ModelBlob:
    """The file of a model, and how to read it; all processes read the same one."""

    def __init__(self, model: RunnableModel) -> None:
        """Raises GlowError for a model that cannot be stored."""
        self.descriptor = anonymous_file("glow-model")
        self._close = weakref.finalize(self, os.close, self.descriptor)
        with os.fdopen(os.dup(self.descriptor), "wb") as file:
            if isinstance(model, CompiledModel):
                self.kind = _kind_of(model)
                program = get_backend(model.backend).stored_program(model.function)
                stored = StoredModel(model.signature, program)
                write_model(stored, file)
            else:
                self.kind = _write_pickle(model, file)

    def content(self) -> Array:
        """All its bytes, mapped."""
        content = mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, np.uint8)

    def close(self) -> None:
        """Close the file; processes that have it open keep it."""
        self._close()


_blobs: weakref.WeakKeyDictionary[RunnableModel, ModelBlob] = (
    weakref.WeakKeyDictionary()
)


def blob_of(model: RunnableModel) -> ModelBlob:
    """The blob of a model: one for all devices, unless it has variables, which change.

    Raises GlowError for a model that cannot be stored.
    """
    if isinstance(model, CompiledModel) and model.variables:
        return ModelBlob(model)
    blob = _blobs.get(model)
    if blob is None:
        blob = _blobs[model] = ModelBlob(model)
    return blob


def read_blob(descriptor: int, kind: str) -> RunnableModel:
    """The model of a blob; raises GlowError where it cannot run here.

    One that takes much of the machine's memory shares its pages with all processes. Others
    are read: networks run some per cent faster on memory of large pages.
    """
    content = np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), np.uint8)
    there_is = memory_bytes()
    if there_is is not None and len(content) * COPIES > there_is:
        return model_in_blob(content, kind)
    if _places(kind) is None:
        return _model(read_model(descriptor), kind)
    return model_in_blob(content, kind, is_copied=True)


def model_in_blob(
    content: Array, kind: str, *, is_copied: bool = False
) -> RunnableModel:
    """The model in the bytes of a blob, whose constants stay there unless they are copied.

    Raises GlowError as `read_blob` does.
    """
    places = _places(kind)
    if places is None:
        return _model(model_in(content.data), kind)
    first, *rest = [content[start : start + size] for start, size in places]
    buffers = [_copied(part) if is_copied else part for part in rest]
    found = pickle.loads(first.data, buffers=[part.data for part in buffers])
    return cast("RunnableModel", found)


def _copied(part: Array) -> Array:
    copy = aligned_empty(part.nbytes, mmap.PAGESIZE)
    copy[:] = part
    return copy


def _write_pickle(model: SpecializedModel, file: BinaryIO) -> str:
    """Write a model with open sizes; its kind."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    places: list[tuple[int, int]] = []
    for part in (memoryview(text), *(one.raw() for one in buffers)):
        start = -(-file.tell() // mmap.PAGESIZE) * mmap.PAGESIZE
        file.seek(start)
        file.write(part)
        places.append((start, part.nbytes))
    return json.dumps({PICKLE: places})


def _places(kind: str) -> Sequence[tuple[int, int]] | None:
    """Where the parts of a pickle start, and their sizes; None for the file of a model."""
    found: object = json.loads(kind)
    if not isinstance(found, dict):
        return None
    return cast("dict[str, list[tuple[int, int]]]", found)[PICKLE]


def _model(stored: StoredModel | None, kind: str) -> CompiledModel:
    if stored is None or stored.program is None:
        raise GlowError("the file of the model is damaged")
    assert isinstance(stored.signature, Signature)
    backend, *where = json.loads(kind)
    function = get_backend(backend).load_program(stored.program, *where)
    return CompiledModel(stored.signature, function, backend)


def _kind_of(model: CompiledModel) -> str:
    """How to make the model of its program."""
    if not model.can_be_stored:
        raise GlowError(
            f"a model that a {type(model.function).__name__} runs cannot go to another process",
            hint="compile it for the backend cpu",
        )
    return json.dumps([model.backend, *runs_on(model.function)])
