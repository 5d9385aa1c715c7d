"""The programs of docs/bundles.md run as they are written."""

import os
import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from places import ROOT
from test_documented_commands import BLOCK

import glow
from glow.bundles.bundle import ERRORS
from glow.lowering.target.target import host_target
from glow.tools.glow import make_parser, run_glow

PAGE = (ROOT / "docs" / "bundles.md").read_text(encoding="utf-8")
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def block(kind):
    """The only block of a language."""
    (found,) = (text for language, text in BLOCK.findall(PAGE) if language == kind)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's first command has written its bundle."""
    if not host_target().triple.startswith("x86_64"):
        pytest.skip("bundles are linked in the process on x86-64 only")
    place = tmp_path_factory.mktemp("page")
    run_glow(["compile", str(DIGITS), "--emit=bundle", "-o", str(place / "out")])
    return place


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_program_runs(folder):
    (folder / "page.c").write_text(block("c"))
    out = folder / "out"
    strict = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-I{out}"]
    command = ["cc", *strict, "-o", "page", "page.c", str(out / "digits.o")]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "page"], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0
    found = [float(line) for line in done.stdout.splitlines()]
    image = np.full((1, 1, 8, 8), 0.5, np.float32)
    expected = glow.load(out)(image)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    # Where the file is missing.
    done = subprocess.run([folder / "page"], cwd="/", capture_output=True, text=True)
    assert "not the weights" in done.stdout


def test_the_python_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {}
    exec(block("python"), names)
    assert names["logits"].shape == (1, 10)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust")
def test_the_rust_runs(folder):
    """With a `main` that reads the weights and aligns the regions."""
    program = folder / "page.rs"
    call = """
fn main() {
    let weights = std::fs::read("out/digits.weights.bin").unwrap();
    let mut spaces = [(); 3].map(|_| vec![0u8; 200_000]);
    let starts: Vec<_> = spaces.iter().map(|s| s.as_ptr().align_offset(64)).collect();
    let [a, b, c] = &mut spaces;
    let constants = &mut a[starts[0]..][..weights.len()];
    constants.copy_from_slice(&weights);
    run(constants, &mut b[starts[1]..], &mut c[starts[2]..]).unwrap();
    assert_eq!(run(&weights[1..], &mut [], &mut []), Err(digits::Error::BadWeights));
    assert_eq!(run(constants, &mut [], &mut []), Err(digits::Error::TooSmall));
}
"""
    program.write_text(block("rust") + call)
    shutil.copy(folder / "out" / "digits.rs", folder)
    link = f"-Clink-arg={folder / 'out' / 'digits.o'}"
    subprocess.run(["rustc", link, "-o", "rust", program], cwd=folder, check=True)
    subprocess.run([folder / "rust"], cwd=folder, check=True, env=os.environ)


def test_the_page_lists_all_options_and_errors():
    parser = make_parser()._subparsers._group_actions[0].choices["compile"]
    (group,) = (g for g in parser._action_groups if (g.title or "").startswith("bund"))
    options = [action.option_strings[0] for action in group._group_actions]
    assert len(options) > 8
    missing = [name for name in options if f"`{name}" not in PAGE]
    assert missing == []
    for name in ERRORS.keys() - {"OK"}:
        assert f"`DIGITS_{name}`" in PAGE
    rows = [PAGE.index(f"`--{name}") for name in ("target", "name", "quantize")]
    assert all(before < after for before, after in pairwise(rows))
    assert re.search(r"glow\.load\(folder, emulate=True\)", PAGE)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
def test_the_javascript_runs(tmp_path):
    pytest.importorskip("ziglang")
    out = tmp_path / "web"
    command = ["compile", str(DIGITS), "--emit=bundle", "--target=wasm-simd"]
    run_glow([*command, "-o", str(out)])
    (out / "page.mjs").write_text(block("js"))
    command = ["node", out / "page.mjs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    digit = glow.compile(DIGITS)(np.full((1, 1, 8, 8), 0.5, np.float32)).argmax()
    assert done.stdout == f"[ 1, 10 ] {digit}\n"
