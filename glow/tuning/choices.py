"""The choices that tuning kept, which every compilation asks before the cost models.

They stand in `tuning/chosen.jsonl` in the cache folder, the last one for a kernel first. A
compilation looks once whether there is a file (one call of `stat`), and reads it if it has
changed. Within `using` other choices hold: the search compiles networks so. `GLOW_TUNING=off`
compiles by the models alone, for code that is the same everywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glow.runtime.caches.cache_folder import default_directory, open_private

if TYPE_CHECKING:
    from glow.lowering.target.target import Target
    from glow.tuning.records import Fields, Records

FOLDER = "tuning"
CHOSEN, MEASURED = "chosen.jsonl", "measured.jsonl"
SWITCH = "GLOW_TUNING"

Watch = Callable[[object, object], None]
"""Is told the specification of a kernel and the configuration that it gets."""


def tuning_file(name: str) -> Path:
    """A file of records in the cache folder."""
    return default_directory() / FOLDER / name


@dataclass
class Choices:
    """The content of a file of choices, by target."""

    path: Path
    content: bytes
    by_target: dict[str, Records] = field(default_factory=lambda: {})

    @property
    def digest(self) -> str:
        """What differs where a choice does."""
        return hashlib.sha256(self.content).hexdigest() if self.content else ""

    def find(self, kernel: str, target: Target) -> tuple[Fields, str] | None:
        """The last configuration kept for a kernel, and the line that says it."""
        from glow.tuning.records import records_in, target_key

        key = target_key(target)
        if key not in self.by_target:
            self.by_target[key] = records_in(self.content, self.path, key)
        found = self.by_target[key].of(kernel)
        if not found:
            return None
        number, record = found[-1]
        return record.config, f"{self.path}:{number}"


@dataclass(frozen=True)
class Tried:
    """Choices that hold within `using`, by kernel."""

    configs: Mapping[str, Fields]

    digest = "tried"

    def find(self, kernel: str, target: Target) -> tuple[Fields, str] | None:
        """The configuration for a kernel."""
        config = self.configs.get(kernel)
        return None if config is None else (config, "the search")


_State = tuple[Path, int, int]

_tried: ContextVar[Tried | None] = ContextVar("tried", default=None)
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)
_file: tuple[_State | None, Choices | None] = (None, None)


def refresh() -> str:
    """Look whether choices have changed; text that differs where they do, empty for none."""
    global _file
    path = tuning_file(CHOSEN)
    try:
        status = os.stat(path)
    except OSError:
        _file = (None, None)
        return ""
    if os.environ.get(SWITCH) == "off":
        _file = (None, None)
        return ""
    state = (path, status.st_mtime_ns, status.st_size)
    if _file[0] != state:
        _file = (state, _read(path))
    choices = _file[1]
    return "" if choices is None else choices.digest


def _read(path: Path) -> Choices | None:
    try:
        with open(open_private(path, path.parent.parent), "rb") as file:
            return Choices(path, file.read())
    except OSError:
        return None


def current() -> Choices | Tried | None:
    """The choices that hold, as `refresh` found them."""
    return _tried.get() or _file[1]


@contextlib.contextmanager
def using(configs: Mapping[str, Fields]) -> Generator[None]:
    """Compile by these choices and no others."""
    token = _tried.set(Tried(configs))
    try:
        yield
    finally:
        _tried.reset(token)


@contextlib.contextmanager
def watching(watch: Watch) -> Generator[None]:
    """Tell of each kernel that is configured."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(spec: object, config: object) -> None:
    """Tell who watches of a configuration."""
    watch = _watch.get()
    if watch is not None:
        watch(spec, config)
