"""The choices that tuning kept, which every compilation asks before the cost models.

They stand in `tuning/chosen.jsonl` in the cache folder, the last one for a kernel first, and
beside it `model.npz`, what was learned of all kernels. A compilation looks once whether there is
such a folder (one call of `stat`), and reads what has changed in it. Within `using` other choices
hold: the search compiles networks so. `GLOW_TUNING=off` compiles by the cost models alone, for
code that is the same everywhere.
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
from glow.runtime.caches.calibration import SWITCH, calibration

if TYPE_CHECKING:
    from glow.lowering.target.target import Target
    from glow.tuning.model import Trees
    from glow.tuning.records import Fields, Records

FOLDER = "tuning"
CHOSEN, MEASURED, MODEL = "chosen.jsonl", "measured.jsonl", "model.npz"

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
        records = self.by_target[key]
        found = records.of(kernel)
        if not found:
            return None
        start, record = found[-1]
        return record.config, f"{self.path}:{records.line_number(start)}"


@dataclass(frozen=True)
class Tried:
    """Choices that hold within `using`, by kernel."""

    configs: Mapping[str, Fields]

    def find(self, kernel: str, target: Target) -> tuple[Fields, str] | None:
        """The configuration for a kernel."""
        config = self.configs.get(kernel)
        return None if config is None else (config, "the search")


_State = tuple[tuple[Path, int, int] | None, ...]

_tried: ContextVar[Tried | None] = ContextVar("tried", default=None)
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@dataclass(frozen=True)
class _Read:
    """What was read of the folder, and in which state it was."""

    state: _State = ()
    chosen: Choices | None = None
    trees: Trees | None = None
    digest: str = ""


_last = _Read()


def refresh() -> str:
    """Look whether choices have changed; text that differs where they do, empty for none."""
    global _last
    folder = default_directory() / FOLDER
    if not folder.is_dir() or os.environ.get(SWITCH) == "off":
        _last = _Read()
        return ""
    state = tuple(_state(folder / name) for name in (CHOSEN, MODEL))
    if _last.state != state:
        _last = _read(folder, state)
    return _last.digest


def measured() -> str:
    """Text that differs where compilations do: by choices, or by figures of this machine."""
    return "\n".join(filter(None, (refresh(), calibration())))


def _state(path: Path) -> tuple[Path, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return path, status.st_mtime_ns, status.st_size


def _read(folder: Path, state: _State) -> _Read:
    base, chosen, trees, digests = folder.parent, None, None, list[str]()
    if state[0] is not None:
        with contextlib.suppress(OSError):
            path = folder / CHOSEN
            with open(open_private(path, base), "rb") as file:
                chosen = Choices(path, file.read())
            digests.append(chosen.digest)
    if state[1] is not None:
        from glow.tuning.model import read_trees

        found = read_trees(folder / MODEL, base)
        if found is not None:
            trees, digest = found
            digests.append(digest)
    return _Read(state, chosen, trees, " ".join(digests))


def learned() -> Trees | None:
    """The learned model, as `refresh` found it; none while other choices are tried."""
    return None if _tried.get() else _last.trees


def current() -> Choices | Tried | None:
    """The choices that hold, as `refresh` found them."""
    return _tried.get() or _last.chosen


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
