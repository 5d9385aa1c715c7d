"""Compiled models as entries of the cache of models, and as models again.

A model of one backend is one entry. Of several backends each part is an entry of its own, beside
one that says what the parts take and give; a part whose backend keeps no programs is compiled
again, and the others are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, get_backend
from glow.backends.divided import DividedBackend
from glow.compiled_model import CompiledModel
from glow.dialects.function_attributes import GENERATOR
from glow.frontends.notes import ImportNotes
from glow.options import CompileOptions
from glow.runtime.caches.model_cache import FindFile, ModelCache
from glow.runtime.caches.model_file import StoredModel
from glow.runtime.caches.network_part import NetworkPart
from glow.runtime.native_program import NativeProgram, beginning_with_zeros
from glow.specialized_model import RunnableModel
from glow.tensor_info import Signature

if TYPE_CHECKING:
    from glow.backends.divided import Parts

Entries = Sequence[tuple[str, StoredModel]]
"""What the cache keeps of a model by key, that of the whole last."""


def part_key(key: str, number: int) -> str:
    """The key of a part of a model."""
    return f"{key}-{number}"


def entries_of(
    key: str,
    model: RunnableModel | None,
    notes: ImportNotes,
    asks: Sequence[str] = (),
    known: Parts | None = None,
) -> Entries:
    """What the cache keeps of a model or of a program; nothing where that cannot be kept.

    It has the parts in `known`.
    """
    said = notes.warnings, notes.files, asks
    if model is None:
        return [(key, StoredModel(Signature((), ()), None, *said))]
    if not isinstance(model, CompiledModel):
        return [(key, StoredModel(model.signature, None, *said))]
    backend = get_backend(model.backend)
    is_divided = isinstance(backend, DividedBackend)
    parts = backend.parts_of(model.function) if is_divided else ()
    if not parts:
        program = _program(backend, model)
        if program is None:
            return []
        return [(key, StoredModel(model.signature, program, *said, model.backend))]
    entries: list[tuple[str, StoredModel]] = []
    for number, (part, one) in enumerate(parts):
        if part not in (known or {}):
            program = _program(get_backend(part.backend), one)
            if program is not None:
                stored = StoredModel(one.signature, program, backend=part.backend)
                entries.append((part_key(key, number), stored))
    if entries:
        places = tuple(part for part, _ in parts)
        whole = StoredModel(model.signature, None, *said, model.backend, places)
        entries.append((key, whole))
    return entries


def _program(backend: Backend, model: CompiledModel) -> NativeProgram | None:
    """The program of a model, whose generator of random numbers has no key yet."""
    program = backend.stored_program(model.function) if backend.caches_models else None
    return program and beginning_with_zeros(program, GENERATOR)


def load_model(stored: StoredModel, options: CompileOptions) -> CompiledModel:
    """The model of an entry with a program."""
    assert stored.program is not None
    assert isinstance(stored.signature, Signature)
    backend = get_backend(options.backend)
    maker = get_backend(stored.backend)
    device = options.device
    if isinstance(backend, DividedBackend):
        device = backend.own_device(maker, device)
    function = maker.load_program(stored.program, options.threads, device)
    return CompiledModel(stored.signature, function, maker.name)


def load_parts(
    cache: ModelCache,
    key: str,
    stored: StoredModel,
    find: FindFile,
    options: CompileOptions,
) -> Parts:
    """The parts of an entry that the cache has."""
    parts: dict[NetworkPart, CompiledModel] = {}
    for number, part in enumerate(stored.parts):
        found = cache.load(part_key(key, number), find)
        if found is not None and found.program is not None:
            parts[part] = load_model(found, options)
    return parts


def join_parts(
    stored: StoredModel, parts: Parts, options: CompileOptions
) -> CompiledModel | None:
    """The model of an entry with parts; None where some are missing."""
    assert isinstance(stored.signature, Signature)
    pairs = [(part, parts[part]) for part in stored.parts if part in parts]
    if len(pairs) < len(stored.parts):
        return None
    backend = get_backend(options.backend)
    assert isinstance(backend, DividedBackend)
    function = backend.joined(stored.signature, pairs)
    return CompiledModel(stored.signature, function, options.backend)


@dataclass(frozen=True)
class Entry:
    """What the cache has of a model or of a program."""

    stored: StoredModel
    model: CompiledModel | None
    """None where there is nothing to run, or parts are missing."""
    parts: Parts
    """Of a model of several backends, those that are there."""


def find_entry(key: str, find: FindFile, options: CompileOptions) -> Entry | None:
    """The entry of a model; None where the cache has none."""
    stored = (cache := ModelCache()).load(key, find)
    if stored is None:
        return None
    if stored.program is not None:
        return Entry(stored, load_model(stored, options), {})
    if not stored.parts:
        return Entry(stored, None, {})
    parts = load_parts(cache, key, stored, find, options)
    return Entry(stored, join_parts(stored, parts, options), parts)
