"""`glow profile` as users run it: data in all forms, and data that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import ROOT

from glow import GlowError, Profile
from glow.tools.glow import run_glow

Array = npt.NDArray[Any]

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
COUNT = 3


@pytest.fixture(scope="module")
def images() -> Array:
    """Inputs of the digits network, [batches, 1, 1, 8, 8]."""
    generator = np.random.default_rng(0)
    return generator.random((COUNT, 1, 1, 8, 8)).astype(np.float32)


def profiled(data: Path, *options: str) -> Profile:
    """The profile that the tool writes."""
    output = data.parent / "written.yaml"
    command = ["profile", str(DIGITS), "--data", str(data), "-o", str(output)]
    run_glow([*command, *options])
    return Profile.load(output)


def test_npz(images: Array, tmp_path: Path) -> None:
    """An axis of batches, or samples that are batches of one."""
    data = tmp_path / "data.npz"
    for array in (images, images[:, 0]):
        np.savez(data, image=array)
        profile = profiled(data)
        assert profile.batches == COUNT
        assert profile["image"].high == images.max()


def test_folder(images: Array, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    np.save(folder / "0.npy", images[0])
    np.savez(folder / "1.npz", anything=images[1])
    (folder / "notes.txt").write_text("not data")
    assert profiled(folder).batches == 2


def test_batches_limits_and_merge_adds(images: Array, tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, image=images)
    assert profiled(data, "--batches", "2").batches == 2
    assert profiled(data, "--merge").batches == 2 + COUNT


def test_default_output(
    images: Array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images)
    run_glow(["profile", str(DIGITS), "--data", "data.npz"])
    assert (tmp_path / "digits.profile.yaml").is_file()


def test_no_batches(tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz", image=np.zeros((0, 1, 8, 8), np.float32))
    with pytest.raises(GlowError, match=r"none\.npz is empty: array 'image'"):
        run_glow(["profile", str(DIGITS), "--data", str(tmp_path / "none.npz")])


def test_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(GlowError, match=r"the data set .* is empty"):
        profiled(folder)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match="no such file or folder"):
        profiled(tmp_path / "nothing")


def test_not_finite(images: Array, tmp_path: Path) -> None:
    bad = images.copy()
    bad[1, 0, 0, 0, 0] = np.nan
    np.savez(tmp_path / "data.npz", image=bad)
    with pytest.raises(GlowError, match=r"'image' in batch 1"):
        profiled(tmp_path / "data.npz")


def test_wrong_shape(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", image=np.zeros((4, 3), np.float32))
    with pytest.raises(
        GlowError, match=r"shape \[4, 3\], the model takes \[1, 1, 8, 8"
    ):
        profiled(tmp_path / "data.npz")


def test_wrong_name(images: Array, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=images, b=images)
    with pytest.raises(GlowError, match="has no array 'image'"):
        profiled(tmp_path / "data.npz")


def test_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(GlowError, match=r"is not an \.npz file of numbers"):
        profiled(tmp_path / "data.npz")


def test_quantized_graph_is_printed(
    images: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data.npz", tmp_path / "p.yaml"
    np.savez(data, image=images)
    run_glow(["profile", str(DIGITS), "--data", str(data), "-o", str(output)])
    run_glow(["compile", str(DIGITS), "--emit=graph", f"--quantize={output}"])
    text = capsys.readouterr().out
    assert text.count("glow.conv2d") == 6
    assert "!quant.uniform<u8:f32" in text
