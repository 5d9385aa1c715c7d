"""Files of compiled models, and the cache of them: round trips, damage, keys, limits."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import glow.runtime.caches.model_cache as model_cache
import glow.runtime.file_blocks as file_blocks
from glow.dialects.errors import GlowError
from glow.runtime.buffers import aligned_empty
from glow.runtime.caches.cache_folder import UNFINISHED
from glow.runtime.caches.model_cache import (
    LIMIT_VARIABLE,
    ModelCache,
    UnknownOptionError,
    describe,
    model_key,
)
from glow.runtime.caches.model_file import (
    StoredModel,
    model_in,
    read_model,
    write_model,
)
from glow.runtime.executable import verify_buffer
from glow.runtime.file_blocks import file_digest
from glow.runtime.native_program import Argument, NativeProgram, NativeVariable
from glow.tensor_info import Signature, TensorInfo

FLOAT, BFLOAT = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


@pytest.fixture(autouse=True)
def _usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)


def example(size: int = 10_000, files: Mapping[str, str] | None = None) -> StoredModel:
    """A model whose code is never run."""
    constants = aligned_empty(size)
    constants[:] = np.random.default_rng(size).integers(0, 256, size)
    signature = Signature(
        (TensorInfo("x", (2, 3), FLOAT),),
        (TensorInfo("y/ü", (), np.dtype(bool)), TensorInfo("z", (4,), BFLOAT)),
    )
    program = NativeProgram(
        [b"first object", b"", b"second"],
        constants,
        192,
        640,
        [Argument(0, (2, 3), FLOAT)],
        [Argument(64, (), np.dtype(bool)), Argument(128, (4,), BFLOAT)],
        is_small=True,
        variables=(
            NativeVariable("fc1.weight", Argument(0, (2,), FLOAT), 128),
            NativeVariable("ü/m", Argument(64, (), BFLOAT), None),
        ),
        table_offset=128,
        initial=constants[: min(size, 8)].copy(),
    )
    return StoredModel(signature, program, ["open sizes"], files or {})


def image_of(model: StoredModel) -> bytes:
    """The file of a model."""
    file = BytesIO()
    write_model(model, file)
    return file.getvalue()


def read_bytes(data: bytes, folder: Path) -> StoredModel | None:
    """The model in a file of these bytes, which is also that of the bytes themselves."""
    (folder / "model").write_bytes(data)
    with (folder / "model").open("rb") as file:
        found = read_model(file.fileno())
    place = aligned_empty(len(data))
    place[:] = np.frombuffer(data, np.uint8)
    in_place = model_in(place.data)
    if found is None:
        assert in_place is None
    else:
        assert_same(in_place, found)
    return found


def assert_same(found: StoredModel | None, expected: StoredModel) -> None:
    """All that is stored comes back."""
    assert found is not None
    assert found.signature == expected.signature
    np.testing.assert_array_equal(found.program.constants, expected.program.constants)
    verify_buffer(
        "constants", found.program.constants, expected.program.constants.nbytes
    )
    constants = found.program.constants
    np.testing.assert_array_equal(found.program.initial, expected.program.initial)
    assert replace(expected.program, constants=constants) == found.program
    assert (found.warnings, found.files) == (expected.warnings, expected.files)


@pytest.mark.parametrize("size", [0, 1, 4096, 100_000])
def test_round_trip(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_blocks, "BLOCK", 8192)
    model = example(size, {"weights.bin": "0" * 64})
    assert_same(read_bytes(image_of(model), tmp_path), model)


def test_every_byte_counts(tmp_path: Path) -> None:
    model = example(64)
    data = image_of(model)
    start = len(data) - 64 - model.program.initial.nbytes
    used = len(data[:start].rstrip(b"\0"))
    for position in [*range(0, used, 7), *range(start, len(data))]:
        damaged = bytearray(data)
        damaged[position] ^= 1
        assert read_bytes(bytes(damaged), tmp_path) is None, position


def test_every_length_counts(tmp_path: Path) -> None:
    data = image_of(example(64))
    for size in [*range(0, len(data), 11), len(data) - 1]:
        assert read_bytes(data[:size], tmp_path) is None, size
    assert read_bytes(data + b"\0", tmp_path) is None


def beside(folder: Path | None) -> Callable[[str], Path]:
    """Finds files in a folder; there is none without one."""

    def find(name: str) -> Path:
        if folder is None:
            raise GlowError("no folder")
        return folder / name

    return find


def test_damaged_model_is_removed(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path)
    assert cache.load("key", beside(None)) is None
    assert cache.store("key", example())
    assert_same(cache.load("key", beside(None)), example())
    data = bytearray(cache.path("key").read_bytes())
    data[-1] ^= 1
    cache.path("key").write_bytes(data)
    assert cache.load("key", beside(None)) is None
    assert not cache.path("key").exists()


def test_files_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"weights")
    files = {"weights.bin": file_digest(tmp_path / "weights.bin")}
    cache = ModelCache(tmp_path)
    cache.store("key", example(files=files))
    assert cache.load("key", beside(tmp_path)) is not None
    assert cache.load("key", beside(None)) is None
    (tmp_path / "weights.bin").write_bytes(b"Weights")
    assert cache.load("key", beside(tmp_path)) is None
    (tmp_path / "weights.bin").unlink()
    assert cache.load("key", beside(tmp_path)) is None


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ModelCache(tmp_path / "file")
    assert not cache.store("key", example())
    assert cache.load("key", beside(None)) is None


def test_folder_that_can_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    cache = ModelCache(tmp_path)
    assert cache.store("key", example())
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    assert_same(cache.load("key", beside(None)), example())
    assert not cache.store("other", example())


def test_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    cache = ModelCache(tmp_path)
    assert cache.store("key", example())
    monkeypatch.setattr(model_cache, "write_model", fail)
    assert not cache.store("key", example(70))
    assert_same(cache.load("key", beside(None)), example())
    assert len(list(cache.directory.iterdir())) == 1


def test_entry_that_is_a_folder(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path)
    cache.path("key").mkdir(parents=True)
    assert cache.load("key", beside(None)) is None
    assert not cache.store("key", example())
    assert [path.name for path in cache.directory.iterdir()] == ["key.glowmodel"]


def test_models_that_were_not_used_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_cache, "limit_bytes", lambda: 60_000)
    cache = ModelCache(tmp_path)
    for number in range(5):
        assert cache.store(f"key{number}", example(20_000))
        os.utime(cache.path(f"key{number}"), (number, number))
    abandoned = cache.directory / f"{UNFINISHED}1"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (0, 0))
    cache.store("key5", example(20_000))
    kept = sorted(path.stem for path in cache.directory.iterdir())
    assert kept == ["key4", "key5"]
    assert not cache.store("key6", example(70_000))


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("3", 3 << 20), ("", 2 << 30)]
)
def test_limit(text: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    assert model_cache.limit_bytes() == expected


@dataclass(frozen=True)
class Choice:
    """Options such as those of a quantization."""

    bits: int = 8
    names: tuple[str, ...] = ()


def test_descriptions_differ(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    values = [
        None, False, 1, "1", 1.0, (), (1, 2), ("1", 2), {"x": (1, 2)}, {"x": (1, 3)},
        {"y": (1, 2)}, Choice(), Choice(4), Choice(names=("a",)), tmp_path / "a",
        tmp_path / "b",
    ]  # fmt: skip
    assert len(set(map(describe, values))) == len(values)
    assert describe({"a": 1, "b": 2}) == describe({"b": 2, "a": 1})
    assert describe((np.int64(2),)) == describe((2,)) == describe([2])


def test_what_has_no_description(tmp_path: Path) -> None:
    with pytest.raises(UnknownOptionError):
        describe(object())
    with pytest.raises(UnknownOptionError):
        describe({"x": [object()]})
    with pytest.raises(OSError, match="missing"):
        describe(tmp_path / "missing")


@pytest.mark.parametrize("what", ["versions", "machine"])
def test_keys(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = model_key("digest", {"numerics": "fast"})
    assert key == model_key("digest", {"numerics": "fast"})
    assert key != model_key("other", {"numerics": "fast"})
    assert key != model_key("digest", {"numerics": "exact"})
    assert key != model_key("digest", {})
    monkeypatch.setattr(model_cache, what, lambda: "another")
    assert key != model_key("digest", {"numerics": "fast"})


@pytest.mark.parametrize("size", [0, 1, 1000, 3 * 512, 3 * 512 + 1])
def test_file_digests(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_blocks, "BLOCK", 1024)
    monkeypatch.setattr(file_blocks, "PIECE", 512)
    path = tmp_path / "file"
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    path.write_bytes(data.tobytes())
    digest = file_digest(path)
    assert digest == file_digest(path, 1)
    for position in range(0, size, 97):
        data[position] ^= 1
        path.write_bytes(data.tobytes())
        assert file_digest(path) != digest
        data[position] ^= 1
    path.write_bytes(data.tobytes() + b"\0")
    assert file_digest(path) != digest
