"""Compiled models on disk: a known model runs without the compiler, ONNX or LLVM.

A model is found by all that it was compiled from: the bytes of its file, the options, the
versions of everything that generates code, and the processor. The weights in other files
are compared when it is found. `$GLOW_MODEL_CACHE_MB` limits what all models take together,
2048 unless it is set; 0 turns this cache off. With `$GLOW_MODEL_CACHE_MAP` as 1, models are
mapped from their files, so that all processes have their weights in memory once. A folder
that cannot be written means no cache, not an error; neither does one that others may write,
whose code nobody should run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import index
from pathlib import Path
from typing import Any, cast

from numpy import ndarray
from numpy.typing import NDArray

from glow import sources
from glow.dialects.errors import GlowError
from glow.runtime.caches.cache_folder import (
    default_directory,
    open_private,
    prune,
    whole_file,
)
from glow.runtime.caches.machine import machine
from glow.runtime.caches.model_file import (
    StoredModel,
    map_model,
    read_model,
    write_model,
)
from glow.runtime.caches.object_cache import versions
from glow.runtime.file_blocks import (
    WORKERS,
    Rest,
    digest_or_missing,
    file_digest,
    no_rest,
)

FOLDER = "models"
SUFFIX = ".glowmodel"
LIMIT_VARIABLE = "GLOW_MODEL_CACHE_MB"
LIMIT_MEGABYTES = 2048
MAP_VARIABLE = "GLOW_MODEL_CACHE_MAP"


def limit_bytes() -> int:
    """The bytes that all models may take; 0 where there is to be no cache."""
    text = os.environ.get(LIMIT_VARIABLE) or str(LIMIT_MEGABYTES)
    if not text.isdecimal():
        raise GlowError(f"{LIMIT_VARIABLE} must be a whole number, not '{text}'")
    return int(text) * 2**20


def maps_models() -> bool:
    """Whether models stay in their files, where other processes have them too."""
    return os.environ.get(MAP_VARIABLE) == "1"


FindFile = Callable[[str], Path]
"""The path of a file of weights beside a model; GlowError where it may not be read."""


class UnknownOptionError(Exception):
    """An option whose value has no text that stands for it."""


def describe(value: object) -> str:
    """Text that differs for values that differ; raises UnknownOptionError, OSError.

    A path stands for the content of its file.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, os.PathLike):
        return f"file {file_digest(cast('os.PathLike[str]', value))}"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return repr(sorted((name, describe(item)) for name, item in items))
    if isinstance(value, Sequence):
        return repr([describe(item) for item in cast("Sequence[object]", value)])
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value)}
        return f"{type(value).__name__} {describe(parts)}"
    if isinstance(value, ndarray):
        array = cast("NDArray[Any]", value)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return f"array {array.dtype} {array.shape} {content}"
    if hasattr(value, "__index__"):
        return repr(index(cast(Any, value)))
    raise UnknownOptionError(type(value).__name__)


def model_key(digest: str, options: Mapping[str, object]) -> str:
    """The key of a model whose file has a digest; raises as `describe` does."""
    parts = [digest, describe(options), versions(), machine()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class ModelCache:
    """A folder of compiled models."""

    def __init__(self, directory: Path | None = None) -> None:
        self.base = directory or default_directory()
        self.directory = self.base / FOLDER

    def path(self, key: str) -> Path:
        """The file of a model."""
        return self.directory / f"{key}{SUFFIX}"

    def load(self, key: str, find: FindFile) -> StoredModel | None:
        """A model; None where it is missing or damaged or its weights have changed.

        `find` gives the paths of files beside the model.
        """
        path = self.path(key)
        try:
            descriptor = open_private(path, self.base)
        except OSError:
            return None
        try:
            found = (map_model if maps_models() else read_model)(descriptor)
        finally:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            if found is None:
                path.unlink()
            else:
                os.utime(path)
        if found is None or not has_files(found, find):
            return None
        return found

    def store(self, key: str, model: StoredModel, rest: Rest = no_rest) -> bool:
        """Writes a model; tells whether that was possible.

        One that is too large is said; nothing is written where the compiler has changed
        since this process began.
        """
        limit, size = limit_bytes(), model.size
        if size > limit:
            _log_too_large(size, limit)
            return False
        if not sources.are_unchanged():
            return False
        try:
            with whole_file(self.path(key), self.base) as file:
                write_model(model, file, rest)
            prune(self.directory, SUFFIX, limit)
        except OSError:
            return False
        return True


def _log_too_large(size: int, limit: int) -> None:
    import logging  # Which a model that is found has no need of.

    logging.getLogger("glow").warning(
        "the compiled model of %d MB is not stored: the cache of models holds %d MB "
        "(%s); it is compiled again each time",
        *(-(-size // 2**20), limit // 2**20, LIMIT_VARIABLE),
    )


def has_files(
    model: StoredModel,
    find: FindFile,
    workers: int = WORKERS,
    rest: Rest = no_rest,
) -> bool:
    """Whether the files of weights beside a model are those that it was compiled from.

    One that may not be read is none of them: a compilation says why.
    """
    try:
        return all(
            digest_or_missing(find(name), workers, rest) == digest
            for name, digest in model.files.items()
        )
    except (OSError, GlowError):
        return False
