"""Compiled objects on disk, found by the content that they were compiled from.

A key covers the content, the target and every version that may change the code: ours
(all our sources) and those of the packages that we build on. Each entry begins with a
checksum, and a damaged one counts as missing. A folder that cannot be written means no
cache, not an error; neither does one that others may write, whose code nobody should run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from glow import sources
from glow.runtime.caches.cache_folder import (
    default_directory,
    open_private,
    prune,
    whole_file,
)

if TYPE_CHECKING:
    from glow.lowering.target.target import Target

MAGIC = b"glowobj1"
SUFFIX = ".glowobj"
DIGEST_BYTES = 32
MAX_BYTES = 512 * 2**20
"""The entries that were not used for longest go when all together take more."""
PRUNE_SECONDS = 3600
"""How long nobody looks whether they do."""
PRUNE_MARKER = ".pruned"

PACKAGES = ("xdsl", "llvmlite", "numpy", "onnx", "ml_dtypes")


@cache
def versions() -> str:
    """Returns the versions of everything that generates code or computes constants."""
    packages = (package_version(name) for name in PACKAGES)
    return "; ".join([*packages, f"glow {sources.source_digest()}"])


def package_version(name: str) -> str:
    """Returns a package's name and version, which its folder of metadata is named by.

    `importlib.metadata` takes longer to load than a small network.
    """
    spec = find_spec(name)
    for folder in (spec and spec.submodule_search_locations) or ():
        if found := sorted(Path(folder).parent.glob(f"{name}-*.dist-info")):
            return " ".join(path.stem for path in found)
    from importlib.metadata import version

    return f"{name}-{version(name)}"


def cache_key(content: str | bytes, target: Target | str) -> str:
    """Returns the key of what is compiled from `content` for a target, or what is said of it."""
    digest = hashlib.sha256(versions().encode())
    digest.update(repr(target).encode())
    digest.update(content.encode() if isinstance(content, str) else content)
    return digest.hexdigest()


def pack(blobs: Sequence[bytes]) -> bytes:
    """Returns a list of byte strings as one, with a checksum in front."""
    sizes = [len(blob) for blob in blobs]
    head = struct.pack(f"<{len(sizes) + 1}Q", len(sizes), *sizes)
    payload = b"".join([head, *blobs])
    return MAGIC + hashlib.sha256(payload).digest() + payload


def unpack(data: bytes) -> list[bytes] | None:
    """Returns what `pack` packed, None where a byte is wrong or missing."""
    start = len(MAGIC) + DIGEST_BYTES
    payload = data[start:]
    if data[: len(MAGIC)] != MAGIC:
        return None
    if hashlib.sha256(payload).digest() != data[len(MAGIC) : start]:
        return None
    (count,) = struct.unpack_from("<Q", payload)
    sizes = struct.unpack_from(f"<{count}Q", payload, 8)
    blobs: list[bytes] = []
    position = 8 * (count + 1)
    for size in sizes:
        blobs.append(payload[position : position + size])
        position += size
    return blobs


class ObjectCache:
    """A folder of entries, each a list of byte strings under a key."""

    def __init__(self, directory: Path | None = None):
        self.directory = default_directory() if directory is None else directory

    def path(self, key: str) -> Path:
        """Returns the file of an entry."""
        return self.directory / f"{key}{SUFFIX}"

    def load(self, key: str) -> list[bytes] | None:
        """Returns an entry; None where it is missing, unreadable or damaged."""
        path = self.path(key)
        try:
            with open(open_private(path, self.directory), "rb") as file:
                data = file.read()
        except OSError:
            return None
        blobs = unpack(data)
        with contextlib.suppress(OSError):
            if blobs is None:
                path.unlink()
            else:
                os.utime(path)
        return blobs

    def store(self, key: str, blobs: Sequence[bytes]) -> bool:
        """Writes an entry; tells whether that was possible."""
        return self.store_all({key: blobs})

    def store_all(self, entries: Mapping[str, Sequence[bytes]]) -> bool:
        """Writes entries; tells whether that was possible.

        Nothing is written where the compiler has changed since this process began.
        """
        if not entries:
            return True
        if not sources.imports_are_unchanged():
            return False
        try:
            for key, blobs in entries.items():
                with whole_file(self.path(key), self.directory) as file:
                    file.write(pack(blobs))
            if self.prune_is_due():
                prune(self.directory, SUFFIX, MAX_BYTES)
        except OSError:
            return False
        return True

    def prune_is_due(self) -> bool:
        """Whether nobody has looked through the folder for a while; marks that now.

        Looking through tens of thousands of entries takes longer than to compile one.
        """
        marker = self.directory / PRUNE_MARKER
        with contextlib.suppress(FileNotFoundError):
            if time.time() - marker.stat().st_mtime < PRUNE_SECONDS:
                return False
        marker.touch()
        return True
