"""Our own source files, as they were when this process imported the package.

Modules are imported when they are first needed, and a file may be edited meanwhile. What
a process computes then belongs to no state of the sources: the caches store nothing that
was made after a file's size or times have changed since `import glow`. The same holds of
packages with backends, from when they were first asked about.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec

PACKAGES = ("glow", "glow.dialects", "glow.passes", "glow.lowering")
"""In a clone these are folders beside each other."""

Stamp = tuple[int, int, int]
"""A file's size, and the times of its last changes in nanoseconds."""


def current_stamps() -> Mapping[str, Stamp]:
    """The stamps of all source files by path; none where they are not in folders.

    Raises ImportError for half a package.
    """
    folders = [_folder(name) for name in PACKAGES]
    try:
        return dict(stamp for folder in folders for stamp in _walk(folder))
    except OSError:
        return {}


def _folder(package: str) -> str:
    """Where a package is: in this folder, or beside it."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        folder = os.path.abspath(folder)
        if folder == here or os.path.dirname(folder) in (here, os.path.dirname(here)):
            return folder
    raise ImportError(
        f"{here} belongs to a clone that is not installed, and hides the package that "
        "is: run `make venv` in the clone and use its .venv/bin/python, or start Python "
        "in another folder"
    )


def _walk(folder: str) -> Iterator[tuple[str, Stamp]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".ll")):
                yield entry.path, _stamp(entry.stat())
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _walk(entry.path)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


IMPORTED = current_stamps()
"""The stamps when this module was imported, which `glow` does first."""


_others: dict[str, Mapping[str, Stamp]] = {}
"""The stamps of other packages when they were first asked about."""


def are_unchanged() -> bool:
    """Whether every file is there, as it was when its package was imported."""
    try:
        ours = bool(IMPORTED) and current_stamps() == IMPORTED
        return ours and all(_stamps_of(name) == _others[name] for name in _others)
    except (ImportError, OSError):
        return False


_looked_at: Sequence[object] = ()
"""The specifications of the imported modules when all files were last unchanged."""


def imports_are_unchanged() -> bool:
    """Whether what this process has imported so far is what the files were at first.

    A later edit reaches no module that is there: the files, of which there are a thousand,
    are looked at again only once a module has been imported or reloaded.
    """
    global _looked_at
    imported = _specifications()
    if len(imported) == len(_looked_at) and all(
        map(operator.is_, imported, _looked_at)
    ):
        return True
    if not are_unchanged():
        return False
    _looked_at = imported
    return True


def _specifications() -> Sequence[object]:
    """Those of our modules and of other packages' in memory; each import makes a new one."""
    packages = {"glow", *(name.partition(".")[0] for name in _others)}
    beginnings = tuple(
        packages
    )  # Of all names that are asked about first: few begin so.
    return [
        module.__spec__
        for name, module in list(sys.modules.items())
        if name.startswith(beginnings) and name.partition(".")[0] in packages
    ]


@cache
def source_digest() -> str:
    """The hash of the sources that this process has imported, or will.

    Of sources that have changed it is a random number, which no other process has.
    """
    import hashlib  # Which takes as long to load as all stamps.

    digest = hashlib.sha256()
    for name, content in sorted(_contents()):
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest() if are_unchanged() else os.urandom(32).hex()


def _contents() -> Iterator[tuple[str, bytes]]:
    """Each file's name, as it is once installed, and its bytes."""
    for package in PACKAGES:
        folder = _folder(package)
        for path, _ in _walk(folder):
            with open(path, "rb") as file:
                yield f"{package} {os.path.relpath(path, folder)}", file.read()


@cache
def package_digest(package: str) -> str:
    """The hash of the files of another package, or of a module that stands alone.

    A random number where they cannot be read.
    """
    import hashlib

    digest = hashlib.sha256()
    try:
        _others[package] = _stamps_of(package)
        for path in sorted(_others[package]):
            with open(path, "rb") as file:
                content = file.read()
            digest.update(f"{os.path.basename(path)} {len(content)} ".encode())
            digest.update(content)
    except OSError:
        return os.urandom(32).hex()
    return digest.hexdigest()


def _stamps_of(package: str) -> Mapping[str, Stamp]:
    """The stamps of all source files of a package."""
    spec = find_spec(package)
    folders = (spec and spec.submodule_search_locations) or ()
    if not folders and spec and spec.origin:
        return {spec.origin: _stamp(os.stat(spec.origin))}
    return dict(stamp for folder in folders for stamp in _walk(folder))
