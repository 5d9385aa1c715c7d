"""`glow.compile`: a model from the cache of models, else from the compiler.

The compiler, ONNX and LLVM are loaded only for a model that the cache does not have. What
is compiled is stored by another thread while the caller goes on; weights are written from
where they are. The model's files are hashed before they are read and again before an entry
is written, so that a file that changes meanwhile leaves no entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from glow.backends.backend import DEFAULT_BACKEND, get_backend
from glow.backends.preparation import working
from glow.backends.stored_models import Entries, entries_of, find_entry
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.dialects.numerics import WEIGHT_GROWTH
from glow.frontends.kinds import TEXT, kind_of
from glow.frontends.model_folders import ModelFolders
from glow.frontends.notes import ImportNotes
from glow.garbage_collection import collection_paused
from glow.open_sizes import Buckets, InputShapes, InputValues
from glow.options import AUTO, HOST, SPECIALIZATIONS, CompileOptions, OptionKeywords
from glow.runtime.caches.model_cache import (
    ModelCache,
    UnknownOptionError,
    has_files,
    limit_bytes,
    maps_models,
    model_key,
)
from glow.runtime.file_blocks import WORKERS, Rest, file_digest, no_rest
from glow.sequence_model import with_sequences
from glow.specialization.model_source import ModelSource, OpenSource
from glow.specialized_model import Answers, Program, RunnableModel
from glow.tensor_info import Signature
from glow.tuning import choices

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.backends.divided import Parts
    from glow.compiler import Model
    from glow.passes.quantization.options import QuantizationOptions
    from glow.quantization import Quantization
    from glow.specialization.model_source import OnnxModel

OURS = ("glow.", "contextlib")
"""Modules between a caller and what warns."""

REST_SECONDS = 0.008
"""After each piece of work of a store, which takes half a millisecond: an inference on all
cores would wait for the one that is taken."""

_hurry = threading.Event()
_stores: list[threading.Thread] = []

Content = tuple[Path | None, str]
"""A model's file, if it is one, and the hash of its content."""


@dataclass(frozen=True)
class Source:
    """Where a model comes from, its content's hash, and the key of its cache entry."""

    path: Path | None
    digest: str
    key: str

    def find(self, name: str) -> Path:
        """A file of weights beside the model; raises GlowError where it may not be read."""
        if self.path is None:
            raise GlowError(f"the folder of '{name}' is unknown")
        if kind_of(self.path) == TEXT:
            return self.path.parent / name
        return ModelFolders.of(self.path).find(name)

    def is_unchanged(self) -> bool:
        """Whether the file still has the content that it had."""
        try:
            return self.path is None or _digest(self.path, 1, rest) == self.digest
        except OSError:
            return False


def compile(
    model: Model,
    *,
    backend: str | Sequence[str] = DEFAULT_BACKEND,
    target: str = HOST,
    target_core: str | os.PathLike[str] | None = None,
    device: str | None = None,
    threads: int | None = None,
    input_shapes: InputShapes | None = None,
    input_values: InputValues | None = None,
    specializations: int = SPECIALIZATIONS,
    buckets: Buckets | str | None = None,
    numerics: str = "default",
    quantize: Quantization = False,
    quantization: QuantizationOptions | None = None,
    precision: str = "f32",
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
) -> RunnableModel:
    """A runnable model of an ONNX file, its bytes or proto, or of a graph module.

    Sizes that the model leaves open are given by `input_shapes`, those of an input
    (`{"x": (1, 3, 224, 224)}`) or one by its name (`{"N": 4}`); `input_values` fixes inputs
    for good. A model with open sizes, or with inputs whose values decide shapes, becomes a
    `SpecializedModel`, which compiles at its calls and keeps so many `specializations`.
    `buckets` are the only sizes that it compiles for (`{"length": [16, 32]}`): others are
    padded with zeros to the next, and results cut, where that does not change them; `auto`
    chooses them by the calls. With buckets `input_shapes` fixes the other sizes.
    Of several backends (`["npu", "cpu"]`) the first that runs a node takes it; `device` is one
    of `glow devices`. `target_core` is a file with figures of the core (`glow calibrate`).
    `threads` are those of a call, by default one a core, and change no result. `numerics`
    is `exact`, `default` or `fast` (`glow.dialects.numerics`). `quantize` is a profile
    (`glow.profile`) or its file; `quantization` has the choices.
    `precision` is what products multiply: `f32`, `bf16` where that is faster, or `fp16`.
    `memory_limit` is the most bytes that the values between nodes may take: the order of
    work and values computed twice make room, or the error names the node that needs most.
    `weight_growth` times the bytes of all weights is what those of convolutions may grow by
    when they are transformed for Winograd's algorithm (64 MB are always free). Raises
    GlowError with one clear line for anything wrong with the model.
    """
    options = CompileOptions(
        backend=cast(str, backend),
        target=target,
        target_core=target_core,
        device=device,
        threads=threads,
        input_shapes=input_shapes,
        input_values=input_values,
        specializations=specializations,
        buckets=buckets,
        numerics=numerics,
        quantize=quantize,
        quantization=quantization,
        precision=precision,
        memory_limit=memory_limit,
        weight_growth=weight_growth,
    )
    return with_sequences(model, options, compile_known)


@collection_paused()
def compile_known(model: Model, options: CompileOptions) -> RunnableModel:
    """A model from the cache of models, else compiled and stored in it."""
    source = find_source(model, options)
    entry = source and find_entry(source.key, source.find, options)
    stored = entry and entry.stored
    if entry is not None and entry.model is not None:
        _warn(entry.stored.warnings)
        return entry.model
    if stored is None or isinstance(stored.signature, Signature):
        notes = ImportNotes()
        with working(options, known := entry.parts if entry else {}):
            from glow.compiler import compile_model

            compiled = compile_model(model, options, notes)
        kept = source and _keep(source, options, compiled, notes, known=known)
        if isinstance(compiled, CompiledModel):
            _warn(notes.warnings)
            return kept or compiled
        signature = compiled.signature
    else:
        _warn(stored.warnings)
        signature = stored.signature
    specializer = StoredSpecializer(ModelSource(cast("OnnxModel", model)), options)
    if options.buckets == AUTO:
        from glow.bucketing.automatic import automatic_model

        return automatic_model(signature, specializer, compile_known)
    from glow.bucketing.bucketed_model import open_model

    return open_model(signature, specializer, options.specializations)


class StoredSpecializer(OpenSource):
    """Takes the programs of a model from the cache of models, as that has whole models."""

    def __init__(self, source: ModelSource, options: CompileOptions) -> None:
        super().__init__(source, options)
        self._content: Content | None = None
        """That of the model's file, which stays as it is: it is hashed once."""

    def find_program(
        self, shapes: Mapping[str, tuple[int, ...]], answers: Answers
    ) -> tuple[CompileOptions, Source | None]:
        """The options of a program and where the cache has it.

        Raises GlowError where the model's file is another one than at first.
        """
        self.source.check()
        options = self.options_for(shapes)
        found = find_source(self.source.model, options, answers, self._content)
        self.source.check()
        if found is not None:
            self._content = found.path, found.digest
        return options, found

    @collection_paused()
    def make(self, shapes: Mapping[str, tuple[int, ...]], answers: Answers) -> Program:
        """The program behind those that have asked for the answers; raises GlowError."""
        options, source = self.find_program(shapes, answers)
        entry = source and find_entry(source.key, source.find, options)
        if entry is not None and (entry.model or not entry.stored.parts):
            _warn(entry.stored.warnings)
            return Program(entry.model, tuple(entry.stored.asks))
        notes = ImportNotes()
        with working(options, known := entry.parts if entry else {}):
            from glow.compiler import compile_step

            program = compile_step(
                self.source.model, options, answers, notes, self.ends
            )
        kept = source and _keep(
            source, options, program.model, notes, program.asks, known
        )
        _warn(notes.warnings)
        return program if kept is None else replace(program, model=kept)

    def compile_part(self, part: ModuleOp) -> CompiledModel:
        """A program of some nodes of the model, which the cache of models does not have."""
        from glow.compiler import compile_module

        return compile_module(part, self.options)


def _keep(
    source: Source,
    options: CompileOptions,
    model: RunnableModel | None,
    notes: ImportNotes,
    asks: Sequence[str] = (),
    known: Parts | None = None,
) -> CompiledModel | None:
    """Store a model in the cache; that model as it is there, if it stays in its file."""
    entries = entries_of(source.key, model, notes, asks, known)
    if not entries:
        return None
    store_later(ModelCache(), source, entries)
    if not isinstance(model, CompiledModel) or not maps_models():
        return None
    wait_for_stores()
    found = find_entry(source.key, source.find, options)
    return found and found.model


def from_jax(
    function: Callable[..., Any], *examples: Any, **options: Unpack[OptionKeywords]
) -> RunnableModel:
    """A runnable model of a function of JAX, for arguments like the examples.

    `examples` are arrays, `jax.ShapeDtypeStruct`s, or trees of them (dictionaries of
    parameters): the model takes their leaves in JAX's order, named by their paths, and gives
    the leaves of what the function returns. What the function has closed over are weights.
    `options` are those of `glow.compile`. Raises GlowError where JAX is missing, and for
    operations that cannot be converted.
    """
    from glow.compiler import compile_model
    from glow.frontends.stablehlo.jax_functions import jax_module
    from glow.universe import new_context

    module = jax_module(new_context(), function, *examples)
    return compile_model(module, CompileOptions(**options))


def _warn(messages: Sequence[str]) -> None:
    """Warn whoever called Glow, of a model or of the one it compiles at a call."""
    level, frame = 1, sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(OURS):
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, stacklevel=level)


def find_source(
    model: object,
    options: CompileOptions,
    answers: Answers | None = None,
    content: Content | None = None,
) -> Source | None:
    """The source of a model that may be cached: a file, or the bytes of one.

    With `answers` (`glow.specialized_model`) it is that of a program of the model; `content` is
    the model's, where that is known.
    """
    if limit_bytes() == 0 or not get_backend(options.backend).caches_models:
        return None
    try:
        path, digest = content or _content(model)
        parts = _described(options)
        if answers is not None:
            parts["answers"] = answers
        return Source(path, digest, model_key(digest, parts))
    except (OSError, UnknownOptionError, ValueError):  # The last for a NUL in a path.
        return None


def _content(model: object) -> Content:
    """The file, if it is one, and the hash of its content."""
    if isinstance(model, bytes):
        return None, hashlib.sha256(model).hexdigest()
    if isinstance(model, str | os.PathLike):
        path = Path(os.fspath(cast(str, model)))
        return path, _digest(path)
    raise UnknownOptionError("a model that is no file")


def _digest(path: Path, workers: int = WORKERS, rest: Rest = no_rest) -> str:
    """The hash of a model's file, and how its bytes are read."""
    kind = TEXT if kind_of(path) == TEXT else ""
    return file_digest(path, workers, rest) + kind


def _described(options: CompileOptions) -> dict[str, object]:
    """What the key of an entry is made of; a profile is given by the name of its file."""
    version = get_backend(options.backend).version()
    parts = {**options.that_change_code(), "version": version}
    parts["tuning"] = choices.measured()
    quantize = options.quantize
    return {**parts, "quantize": Path(quantize)} if isinstance(quantize, str) else parts


def store_later(cache: ModelCache, source: Source, entries: Entries) -> None:
    """Stores a model in a thread of its own, which leaves the cores to inferences.

    The model before it is stored first: no more than one waits with all its weights.
    """

    def store() -> None:
        (_, whole), unchanged = entries[-1], source.is_unchanged()
        if unchanged and has_files(whole, source.find, 1, rest):
            for key, stored in entries:
                cache.store(key, stored, rest)

    wait_for_stores()
    thread = threading.Thread(target=store, name="glow-store")
    with contextlib.suppress(RuntimeError):  # Where no thread can be started.
        thread.start()
        _stores.append(thread)


def rest() -> None:
    """Leave the cores to others for a while, unless somebody waits for the store.

    A low priority would do worse: a busy machine would hardly ever let the thread go on,
    which may hold Python's lock, or the end of the process.
    """
    if threading.main_thread().is_alive():
        _hurry.wait(REST_SECONDS)


def wait_for_stores() -> None:
    """Returns when all models that were compiled so far are stored."""
    _hurry.set()
    try:
        for thread in list(_stores):
            thread.join()
            with contextlib.suppress(ValueError):  # Another thread has waited too.
                _stores.remove(thread)
    finally:
        _hurry.clear()
