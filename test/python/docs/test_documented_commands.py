"""Every command line of the README and of docs/ runs as it is written.

They run in a folder that has the files that the pages name: small ones, with the names of
the pages' larger ones. A page's commands run in order, since some read what others wrote.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from places import ROOT

import glow
from benchmarks.networks import bert
from glow.tools.glow import make_parser, run_glow
from glow.tools.glow_opt import run_glow_opt

DIGITS = ROOT / "examples" / "digits"
ELSEWHERE = ["add-a-backend.md"]
"""Its commands need the package that it builds: `test_backend_package.py` runs them."""
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").glob("*.md"))
        if page.name not in ELSEWHERE
    ),
]

RECORDING = ["tuning"]
"""Pages whose commands write records into the cache folder, and get one of their own."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(glow|glow-opt|cd) ")
PLACEHOLDER = re.compile(r"\.\.\.|\b[A-Z]{3,}\b")
"""Of commands in sentences, which need not be complete."""

TOOLS = {"glow": run_glow, "glow-opt": run_glow_opt}


def python_of(name: str) -> list[str]:
    """The Python of a page."""
    return blocks((ROOT / "docs" / name).read_text(encoding="utf-8"), "python")


def commands(page: str) -> Iterator[str]:
    """The command lines of a page: in blocks, and those in sentences that name a file."""
    for kind, block in BLOCK.findall(page):
        if kind in ("", "sh"):
            yield from filter(COMMAND.match, block.splitlines())
    for text in INLINE.findall(BLOCK.sub("", page)):
        complete = COMMAND.match(text) and not PLACEHOLDER.search(text)
        if complete and re.search(r"\.\w+$", text):
            yield text


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of a language."""
    return [block for found, block in BLOCK.findall(page) if found == kind]


ROWS, READER, STEP = blocks(
    (ROOT / "docs" / "open-sizes.md").read_text(encoding="utf-8"), "onnx"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that pages read."""
    folder = tmp_path_factory.mktemp("files")
    shutil.copytree(DIGITS, folder / "examples" / "digits")
    model = str(shutil.copy(DIGITS / "mlp.onnx", folder / "model.onnx"))
    for name in ("calibration.npz", "labelled.npz"):
        shutil.copy(DIGITS / "calibration.npz", folder / name)
    shutil.copytree(ROOT / "docs", folder / "docs")
    onnx.save(bert.build_open(bert.TINY), folder / "encoder.onnx")
    np.save(folder / "cat.npy", np.zeros((1, 1, 8, 8), np.float32))
    run_glow(["compile", model, "--emit=graph", "-o", str(folder / "in.mlir")])
    run_glow_opt(["--lower", model, "-o", str(folder / "lowered.mlir")])
    onnx.save(parser.parse_model(ROWS), folder / "rows.onnx")
    onnx.save(parser.parse_model(STEP), folder / "step.onnx")
    onnx.save(parser.parse_model(READER), folder / "reader.onnx")
    memory = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    (lives,) = (block for block in blocks(memory, "mlir") if "@lives" in block)
    (folder / "lives.mlir").write_text(lives, encoding="utf-8")
    return folder


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands(
    path: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(files, tmp_path / "folder")
    monkeypatch.chdir(folder)
    if path.stem in RECORDING:
        monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    for line in commands(path.read_text(encoding="utf-8")):
        program, *arguments = shlex.split(line, comments=True)
        if program == "cd":
            monkeypatch.chdir(arguments[0])
            continue
        try:
            TOOLS[program](arguments)
        except glow.GlowError as error:
            pytest.fail(f"{path.name}: {line}: {error}")


def test_commands_are_found() -> None:
    """A change of the pages' form must not leave the test above without work."""
    found = {path.stem: len([*commands(path.read_text())]) for path in PAGES}
    assert found["README"] >= 13
    assert found["quantization"] >= 8
    assert found["memory"] >= 3
    named = " ".join(line for path in PAGES for line in commands(path.read_text()))
    (subcommands,) = (
        action.choices for action in make_parser()._actions if action.dest == "command"
    )
    assert subcommands is not None
    # `test_serving_page.py` runs what never ends.
    for name in subcommands.keys() - {"serve"}:
        assert f"glow {name} " in named


def test_python_of_the_readme(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    image, logits = np.zeros((1, 1, 8, 8), np.float32), np.empty((1, 10), np.float32)
    with np.load("calibration.npz") as stored:
        data = {"images": stored["image"][:50, 0], "labels": stored["labels"][:50]}
    names = {"image": image, "logits": logits, **data}
    for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python"):
        exec(block, names)


def test_python_of_quantization(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    page = (ROOT / "docs" / "quantization.md").read_text(encoding="utf-8")
    with np.load("calibration.npz") as stored:
        batches = list(stored["image"][:4])
    for block in blocks(page, "python"):
        exec(block, {"glow": glow, "batches": batches})


def test_python_of_open_sizes(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each `print` prints the comment behind it."""
    monkeypatch.chdir(files)
    names: dict[str, object] = {}
    for block in python_of("open-sizes.md"):
        exec(block, names)
    code = "\n".join(python_of("open-sizes.md"))
    printed = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == printed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_targets_of_make(path: Path) -> None:
    of_bundles = ROOT / "glow" / "bundles" / "example" / "Makefile"
    makefile = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "Makefile", of_bundles)
    )
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    page = path.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", page, re.MULTILINE)) <= targets
