"""`glow quantize-report`, `glow tune-quantization`, options of `--quantize`: as users do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import ROOT

import glow
from glow import GlowError, Profile, QuantizationOptions
from glow.compiler import load
from glow.quantization import parse_quantization
from glow.quantization_report import report_quantization
from glow.tools.glow import run_glow

Array = npt.NDArray[Any]

DIGITS = ROOT / "examples" / "digits"
MLP = DIGITS / "mlp.onnx"
LAYERS = {"layer.2.relu", "layer.4.relu", "layer.5.linear"}

SCORES = """
import numpy as np

def agreement(model):
    with np.load("scores.npz") as data:
        images, exact = data["images"], data["exact"]
    found = np.array([model(image)[0] for image in images])
    return -float(np.abs(found - exact).max())

def broken(model):
    return 1 / 0

def nothing(model):
    return float("nan")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with calibration data and the profile of the MLP."""
    folder = tmp_path_factory.mktemp("tools")
    with np.load(DIGITS / "calibration.npz") as stored:
        images = stored["images"][:32, None, None].astype(np.float32) / 16
        np.savez(folder / "data.npz", image=images, labels=stored["labels"][:32])
    profile = glow.profile(MLP, list(images), backend="interpreter")
    profile.save(folder / "p.yaml")
    return folder


def command(name: str, folder: Path, output: str, *options: str) -> Path:
    """Run a command of the tool; the file that it writes."""
    path = folder / output
    files = [f"--profile={folder / 'p.yaml'}", f"--data={folder / 'data.npz'}"]
    run_glow([name, str(MLP), *files, "-o", str(path), *options])
    return path


def test_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each product, the worst first, and a page that needs nothing else."""
    page = command("quantize-report", folder, "page.html").read_text()
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines[1:-1]]
    assert {row[0] for row in rows} == LAYERS
    harm = [float(row[-2]) for row in rows]
    assert harm == sorted(harm)
    assert min(harm) > 35
    assert lines[-1].startswith("output of the quantized network: ")
    assert page.count("<svg") == page.count("<line") / 2 == len(LAYERS)
    assert "src=" not in page
    assert "href=" not in page


def test_report_of_random_inputs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(folder / "random.html")
    run_glow(
        ["quantize-report", str(MLP), f"--profile={folder / 'p.yaml'}", "-o", path]
    )
    assert "warning: no --data: measuring on 2 random inputs" in capsys.readouterr().err


def test_report_finds_the_layer_that_hurts(folder: Path) -> None:
    """A range that clips shows in the layer that reads the value."""
    profile = Profile.load(folder / "p.yaml")
    profile["layer.2.relu"].range = (0.0, 0.3 * profile["layer.2.relu"].high)
    with np.load(folder / "data.npz") as data:
        batches = [{"image": image} for image in data["image"][:4]]
    report = report_quantization(load(MLP), profile, batches)
    assert report.layers[0].name == "layer.4.relu"
    assert report.layers[0].output.decibels < 25 < report.layers[1].output.decibels
    kept = QuantizationOptions(keep=("layer.4.relu",))
    report = report_quantization(load(MLP), profile, batches, kept)
    assert {layer.name for layer in report.layers} == LAYERS - {"layer.4.relu"}


def test_report_by_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("quantize-report", folder, "rows.html", "--options=activations=per-row")
    assert capsys.readouterr().out.count("u8 by row") == len(LAYERS)


@pytest.fixture
def scores(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of scores in the current folder."""
    with np.load(folder / "data.npz") as data:
        images = data["image"][:8]
    model = glow.compile(MLP, backend="interpreter")
    exact = np.array([np.asarray(model(image))[0] for image in images])
    np.savez(tmp_path / "scores.npz", images=images, exact=exact)
    (tmp_path / "scores_of_mlp.py").write_text(SCORES)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("scores")
def test_tune_meets_a_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A range that clips is widened; the same search twice writes the same file."""
    clipped = Profile.load(folder / "p.yaml")
    clipped["layer.2.relu"].range = (0.0, 0.3 * clipped["layer.2.relu"].high)
    clipped.save(folder / "clipped.yaml")
    options = [
        "--score=scores_of_mlp:agreement",
        "--target=-0.055",
        f"--profile={folder / 'clipped.yaml'}",
        "--trials=5",
    ]
    tuned = command("tune-quantization", folder, "tuned.yaml", *options)
    text = tuned.read_text()
    assert (
        command("tune-quantization", folder, "again.yaml", *options).read_text() == text
    )
    first, target, *tried = capsys.readouterr().err.splitlines()
    assert (
        Profile.load(tuned).values.keys()
        == Profile.load(folder / "p.yaml").values.keys()
    )
    assert "range" in text
    assert abs(float(first.split()[0])) < 1e-4
    scores = [float(line.split()[0]) for line in [target, *tried] if line[0] == "-"]
    assert scores[0] < -0.055 <= max(scores)


@pytest.mark.usefixtures("scores")
def test_tune_widens_layers(folder: Path) -> None:
    """Where no range helps, layers compute in 16 bits or in float."""
    options = ["--score=scores_of_mlp:agreement", "--target=-0.045", "--trials=15"]
    tuned = Profile.load(command("tune-quantization", folder, "wide.yaml", *options))
    wide = [name for name, value in tuned.values.items() if value.precision]
    assert wide or tuned.keep


def test_tune_by_accuracy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The labels are in the data."""
    command("tune-quantization", folder, "labelled.yaml")
    assert "1          as profiled" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--labels=names"], "has no array 'names' of labels"),
        (["--labels=image"], "labels for 32 results"),
        (["--score=scores_of_mlp"], "--score needs module:function"),
        (["--score=nowhere_at_all:f"], "--score nowhere_at_all:f: No module named"),
        (["--score=scores_of_mlp:f"], "'scores_of_mlp' has no function 'f'"),
        (["--score=scores_of_mlp:broken"], "broken failed: ZeroDivisionError"),
        (["--score=scores_of_mlp:nothing"], "must give a finite number, not nan"),
        (["--target=2", "--trials=1"], "the target 2 is not met: 1 is the best found"),
        (["--options=schema=odd"], "unknown schema 'odd'"),
        (["--options=odd"], "--options needs key=value"),
        (["--options=profile=x"], "the profile belongs to --profile"),
        (["--trials=0"], "0 is less than 1"),
        (["--target=nan"], "expected a finite number, not 'nan'"),
        (["--drop=inf"], "expected a finite number, not 'inf'"),
        (["--drop=-1"], "-1 is less than 0"),
        (["--drop=much"], "expected a finite number, not 'much'"),
    ],
)
@pytest.mark.usefixtures("scores")
def test_tune_refuses(folder: Path, options: list[str], message: str) -> None:
    with pytest.raises(GlowError) as caught:
        command("tune-quantization", folder, "bad.yaml", *options)
    assert message in caught.value.one_line()


def test_damaged_labels(folder: Path) -> None:
    damaged = folder / "damaged.npz"
    damaged.write_bytes((folder / "data.npz").read_bytes()[:200])
    with pytest.raises(
        GlowError, match=r"damaged\.npz is not an \.npz file of numbers"
    ):
        command("tune-quantization", folder, "bad.yaml", f"--data={damaged}")


def test_report_of_data_that_is_not_finite(folder: Path) -> None:
    image = np.zeros((2, 1, 1, 8, 8), np.float32)
    image[1, 0, 0, 3, 3] = np.nan
    np.savez(folder / "nan.npz", image=image)
    data = f"--data={folder / 'nan.npz'}"
    with pytest.raises(GlowError, match="NaN or infinity in input 'image' in batch 1"):
        command("quantize-report", folder, "bad.html", data)


def test_report_of_no_data(folder: Path) -> None:
    np.savez(folder / "none.npz", image=np.zeros((0, 1, 1, 8, 8), np.float32))
    data = f"--data={folder / 'none.npz'}"
    with pytest.raises(GlowError, match=r"the data set .*none\.npz is empty"):
        command("quantize-report", folder, "bad.html", data)


def test_profile_of_another_network(folder: Path) -> None:
    """All that lacks is named."""
    profile = str(folder / "p.yaml")
    for tool in ("quantize-report", "tune-quantization"):
        with pytest.raises(GlowError, match=r"lacks 'layer\.5\.relu', .* and 6 more"):
            run_glow(
                [
                    tool,
                    str(DIGITS / "depthwise.onnx"),
                    f"--profile={profile}",
                    f"--data={folder / 'data.npz'}",
                    "-o",
                    str(folder / "x"),
                ]
            )


def test_options_of_quantize(folder: Path) -> None:
    profile = folder / "p.yaml"
    text = f"profile={profile} schema=power-of-two per-channel=false keep=a,b"
    path, options = parse_quantization(text)
    assert path == profile
    assert options == QuantizationOptions(
        schema="power-of-two", per_channel=False, keep=("a", "b")
    )
    image = np.ones((1, 1, 8, 8), np.float32)
    one, other = (
        glow.compile(MLP, quantize=quantize, quantization=options)(image)
        for quantize, options in (
            (f"profile={profile} schema=symmetric", None),
            (profile, QuantizationOptions(schema="symmetric")),
        )
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schemas=symmetric", "unknown option 'schemas'.*did you mean 'schema'"),
        ("zzz=1", "unknown option 'zzz'.*one of profile, schema"),
        ("per-channel=maybe", "'per_channel' is true or false, not 'maybe'"),
        ("precision=int4", "unknown precision 'int4'"),
        ("profile=nowhere.yaml", "cannot read the profile 'nowhere.yaml'"),
    ],
)
def test_wrong_options_of_quantize(text: str, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        run_glow(["run", str(MLP), "--quantize", text])
