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
import threading
import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from glow.backends.backend import DEFAULT_BACKEND, Backend, get_backend
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.dialects.numerics import WEIGHT_GROWTH
from glow.frontends.mapped_file import files_held
from glow.frontends.model_folders import ModelFolders
from glow.frontends.notes import ImportNotes
from glow.garbage_collection import collection_paused
from glow.options import HOST, CompileOptions
from glow.runtime.caches.model_cache import (
    ModelCache,
    UnknownOptionError,
    has_files,
    limit_bytes,
    model_key,
)
from glow.runtime.caches.model_file import StoredModel
from glow.runtime.file_blocks import WORKERS, Rest, file_digest, no_rest
from glow.runtime.threads.switch_interval import frequent_switches

if TYPE_CHECKING:
    from glow.compiler import Model
    from glow.passes.quantization.options import QuantizationOptions
    from glow.quantization import Quantization

REST_SECONDS = 0.008
"""After each piece of work of a store, which takes half a millisecond: an inference on all
cores would wait for the one that is taken."""

_hurry = threading.Event()
_stores: list[threading.Thread] = []


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
        if self.path.suffix == ".mlir":
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
    backend: str = DEFAULT_BACKEND,
    target: str = HOST,
    threads: int | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    numerics: str = "default",
    quantize: Quantization = False,
    quantization: QuantizationOptions | None = None,
    precision: str = "f32",
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
) -> CompiledModel:
    """A runnable model of an ONNX file, its bytes or proto, or of a graph module.

    `threads` is the number of threads of a call, by default one a core; results do not
    depend on it. `numerics` is `exact`, `default` or `fast` (`glow.dialects.numerics`).
    `quantize` is a profile (`glow.profile`) or its file; `quantization` has the choices.
    `precision` is what products multiply: `f32`, `bf16` where that is faster, or `fp16`.
    `memory_limit` is the most bytes that the values between nodes may take: the order of
    work and values computed twice make room, or the error names the node that needs most.
    `weight_growth` times the bytes of all weights is what those of convolutions may grow by
    when they are transformed for Winograd's algorithm (8 MB are always free). Raises
    GlowError with one clear line for anything wrong with the model.
    """
    options = CompileOptions(
        backend=backend,
        target=target,
        threads=threads,
        input_shapes=input_shapes,
        numerics=numerics,
        quantize=quantize,
        quantization=quantization,
        precision=precision,
        memory_limit=memory_limit,
        weight_growth=weight_growth,
    )
    return compile_known(model, options)


@collection_paused()
def compile_known(model: Model, options: CompileOptions) -> CompiledModel:
    """A model from the cache of models, else compiled and stored in it."""
    backend = get_backend(options.backend)
    source = find_source(model, options)
    cache = ModelCache()
    stored = cache.load(source.key, source.find) if source else None
    if stored is not None:
        function = backend.load_program(stored.program, options.threads)
        _warn(stored.warnings)
        return CompiledModel(stored.signature, function, options.backend)
    notes = ImportNotes()
    with frequent_switches(), preparing(backend), files_held():
        from glow.compiler import compile_model

        compiled = compile_model(model, options, notes)
    program = backend.stored_program(compiled.function)
    if source is not None and program is not None:
        new = StoredModel(compiled.signature, program, notes.warnings, notes.files)
        store_later(cache, source, new)
    _warn(notes.warnings)
    return compiled


@contextlib.contextmanager
def preparing(backend: Backend) -> Generator[None]:
    """What a backend's functions need is made ready while the graph is read."""

    def prepare() -> None:
        with contextlib.suppress(Exception):  # Which comes again where it is needed.
            backend.prepare()

    thread = threading.Thread(target=prepare, name="glow-runtime")
    with contextlib.suppress(RuntimeError):  # Where no thread can be started.
        thread.start()
    try:
        yield
    finally:
        if thread.ident is not None:
            thread.join()


def _warn(messages: Sequence[str]) -> None:
    """Warn the caller of `compile`, which calls what a context manager wraps."""
    for message in messages:
        warnings.warn(message, stacklevel=5)


def find_source(model: object, options: CompileOptions) -> Source | None:
    """The source of a model that may be cached: a file, or the bytes of one."""
    if limit_bytes() == 0 or not get_backend(options.backend).caches_models:
        return None
    try:
        path, digest = _content(model)
        return Source(path, digest, model_key(digest, _described(options)))
    except (OSError, UnknownOptionError, ValueError):  # The last for a NUL in a path.
        return None


def _content(model: object) -> tuple[Path | None, str]:
    """The file, if it is one, and the hash of its content."""
    if isinstance(model, bytes):
        return None, hashlib.sha256(model).hexdigest()
    if isinstance(model, str | os.PathLike):
        path = Path(os.fspath(cast(str, model)))
        return path, _digest(path)
    raise UnknownOptionError("a model that is no file")


def _digest(path: Path, workers: int = WORKERS, rest: Rest = no_rest) -> str:
    """The hash of a model's file; the suffix says how its bytes are read."""
    kind = ".mlir" if path.suffix == ".mlir" else ""
    return file_digest(path, workers, rest) + kind


def _described(options: CompileOptions) -> dict[str, object]:
    """What the key of an entry is made of; a profile is given by the name of its file."""
    version = get_backend(options.backend).version()
    parts = {**options.that_change_code(), "version": version}
    quantize = options.quantize
    return {**parts, "quantize": Path(quantize)} if isinstance(quantize, str) else parts


def store_later(cache: ModelCache, source: Source, model: StoredModel) -> None:
    """Stores a model in a thread of its own, which leaves the cores to inferences.

    The model before it is stored first: no more than one waits with all its weights.
    """

    def store() -> None:
        if source.is_unchanged() and has_files(model, source.find, 1, rest):
            cache.store(source.key, model, rest)

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
