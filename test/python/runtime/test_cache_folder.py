"""Which folders and files the caches trust: code in them runs as this user."""

from __future__ import annotations

import os
import pwd
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.runtime.model_cache_testing import (
    X,
    expected,
    network,
    own_folder,
    run,
    save,
)

import glow
from glow.compilation import wait_for_stores
from glow.runtime.caches import cache_folder
from glow.runtime.caches.object_cache import ObjectCache
from glow.runtime.file_blocks import file_digest

SOMEBODY = 12345


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the empty folder of models; nobody has been warned."""
    monkeypatch.setattr(cache_folder, "_refused", set())
    return own_folder(tmp_path, monkeypatch)


@pytest.fixture
def as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """To the process its own files look like another user's."""
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    yield
    monkeypatch.undo()


def test_folders_are_the_users_alone(tmp_path: Path, folder: Path) -> None:
    mask = os.umask(0)
    try:
        run(save(tmp_path / "net.onnx"))
    finally:
        os.umask(mask)
    for path in (folder.parent, folder):
        assert path.stat().st_mode & 0o777 == 0o700
    for path in (*folder.iterdir(), *folder.parent.glob("*.glowobj")):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
@pytest.mark.parametrize("name", [".", "models"])
def test_a_folder_that_others_may_write(
    tmp_path: Path, folder: Path, mode: int, name: str
) -> None:
    """Its models are not run, nothing is stored there, and one line says why."""
    path = save(tmp_path / "net.onnx")
    run(path)
    (entry,) = folder.iterdir()
    entry.write_bytes(b"not to be looked at")
    (folder.parent / name).chmod(mode)
    with pytest.warns(UserWarning, match="other users may write it; chmod") as caught:
        result = run(path)
    assert len(caught) == 1
    np.testing.assert_allclose(result, expected(), rtol=1e-4, atol=1e-4)
    assert entry.read_bytes() == b"not to be looked at"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(path)


def test_an_entry_that_others_may_write(tmp_path: Path, folder: Path) -> None:
    path = save(tmp_path / "net.onnx")
    run(path)
    (entry,) = folder.iterdir()
    entry.chmod(0o666)
    with pytest.warns(UserWarning, match=f"{entry.name}: other users may write it"):
        run(path)
    assert entry.stat().st_mode & 0o777 == 0o600


def test_the_folder_of_another_user(
    tmp_path: Path, folder: Path, as_somebody_else: None
) -> None:
    folder.mkdir(parents=True)
    with pytest.warns(UserWarning, match=r"cache: it belongs to another user \(number"):
        run(save(tmp_path / "net.onnx"))
    assert not list(folder.parent.rglob("*.glow*"))


def test_objects_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path / "objects")
    assert cache.store("key", [b"code"])
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert cache.load("key") is None
    assert not cache.store("other", [b"code"])


def test_an_entry_that_is_a_link(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "objects")
    cache.store("elsewhere", [b"code"])
    cache.path("key").symlink_to(cache.path("elsewhere"))
    assert cache.load("key") is None
    assert cache.store("key", [b"own"])
    assert cache.load("key") == [b"own"]
    assert cache.load("elsewhere") == [b"code"]


def test_entries_that_are_pipes(tmp_path: Path, folder: Path) -> None:
    """Nobody writes into them: who opens one to read would wait for ever."""
    path = save(tmp_path / "net.onnx")
    run(path)
    entries = [*folder.iterdir(), *folder.parent.glob("*.glowobj")]
    for entry in entries:
        entry.unlink()
        os.mkfifo(entry, 0o600)
    np.testing.assert_allclose(run(path), expected(), rtol=1e-4, atol=1e-4)
    (model,) = folder.iterdir()
    assert model.is_file()


def test_pipes_have_no_digest(tmp_path: Path) -> None:
    """Two profiles that came through pipes had the same one."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        file_digest(tmp_path / "pipe")


@pytest.mark.parametrize("limit", ["0", "2048"])
def test_users_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("HOME", "XDG_CACHE_HOME", "GLOW_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", limit)
    model = glow.compile(network().SerializeToString())
    wait_for_stores()
    np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-4)
    assert list(tmp_path.glob("glow-*/*.glowobj"))
    assert len(list(tmp_path.glob("glow-*/models/*"))) == (limit != "0")
