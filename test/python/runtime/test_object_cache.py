"""The object cache: hits, damage, read-only folders, keys."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from places import ROOT

import glow.runtime.caches.object_cache as object_cache
from glow.lowering.target.target import Target
from glow.runtime.caches.cache_folder import default_directory
from glow.runtime.caches.object_cache import ObjectCache, cache_key, versions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES = {
    re.split(r"\W", entry)[0] for entry in PROJECT["project"]["dependencies"]
} - {"safetensors"}
"""What generates code or computes constants; safetensors reads and writes files."""

BLOBS = [b"first", b"", b"\0" * 1000]


def test_round_trip(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "new" / "folder")
    assert cache.load("key") is None
    assert cache.store("key", BLOBS)
    assert cache.load("key") == BLOBS
    assert [path.name for path in cache.directory.glob("*.glowobj")] == ["key.glowobj"]


@pytest.mark.parametrize("position", [0, 10, 45, 60, 500, -1])
def test_damaged_entry_is_removed(tmp_path: Path, position: int) -> None:
    cache = ObjectCache(tmp_path)
    cache.store("key", BLOBS)
    data = bytearray(cache.path("key").read_bytes())
    data[position] ^= 1
    cache.path("key").write_bytes(data)
    assert cache.load("key") is None
    assert not cache.path("key").exists()
    assert cache.store("key", BLOBS)
    assert cache.load("key") == BLOBS


@pytest.mark.parametrize("size", [0, 1, 8, 30, 45, 1000])
def test_truncated_entry(tmp_path: Path, size: int) -> None:
    cache = ObjectCache(tmp_path)
    cache.store("key", BLOBS)
    cache.path("key").write_bytes(cache.path("key").read_bytes()[:size])
    assert cache.load("key") is None


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file stands where the folder should: also for the superuser, whom no
    permission stops.
    """
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / "file" / "cache")
    assert not cache.store("key", BLOBS)
    assert cache.load("key") is None


def test_entry_that_is_a_folder(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.path("key").mkdir()
    assert cache.load("key") is None
    assert not cache.store("key", BLOBS)
    assert [path.name for path in tmp_path.iterdir()] == ["key.glowobj"]


def test_old_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "MAX_BYTES", 3 * len(object_cache.pack(BLOBS)))
    monkeypatch.setattr(object_cache, "PRUNE_SECONDS", 0)
    cache = ObjectCache(tmp_path)
    for number in range(5):
        cache.store(f"key{number}", BLOBS)
        os.utime(cache.path(f"key{number}"), (number, number))
    kept = sorted(path.stem for path in tmp_path.glob("*.glowobj"))
    assert kept == ["key2", "key3", "key4"]


def test_entries_are_counted_once_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    cache.store("first", BLOBS)
    monkeypatch.setattr(object_cache, "MAX_BYTES", 0)
    cache.store("second", BLOBS)
    assert cache.load("first") == BLOBS
    os.utime(tmp_path / object_cache.PRUNE_MARKER, (0, 0))
    cache.store("third", BLOBS)
    assert not list(tmp_path.glob("*.glowobj"))


def test_entries_of_one_build_are_stored_together(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.store_all({"first": [b"1"], "second": [b"2", b"3"]})
    assert cache.load("first") == [b"1"]
    assert cache.load("second") == [b"2", b"3"]


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    avx2, neon = Target.from_string("avx2"), Target.from_string("neon")
    key = cache_key("content", avx2)
    assert key == cache_key(b"content", avx2)
    assert key != cache_key("other", avx2)
    assert key != cache_key("content", neon)
    monkeypatch.setattr(object_cache, "versions", lambda: "another release")
    assert key != cache_key("content", avx2)


@pytest.mark.parametrize("package", sorted(DEPENDENCIES))
def test_packages_are_a_part_of_the_keys(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    before, current = versions.__wrapped__(), object_cache.package_version

    def upgraded(name: str) -> str:
        return f"{name}-999" if name == package else current(name)

    monkeypatch.setattr(object_cache, "package_version", upgraded)
    assert versions.__wrapped__() != before


def test_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.delenv("GLOW_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "glow"
