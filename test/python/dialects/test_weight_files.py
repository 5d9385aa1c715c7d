"""Weight files beside programs: whose they are, what they must hold, where they go."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from xdsl.utils.exceptions import ParseError

from glow.dialects import weight_file
from glow.dialects.errors import GlowError
from glow.runtime.atomic_output import is_stream
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

PROGRAM = """
builtin.module attributes {glow.weights = #glow.weights<"w.safetensors">} {
  func.func @main(%x: tensor<2xTYPE>) -> tensor<2xTYPE> {
    %w = glow.constant @w : tensor<2xTYPE>
    %0 = glow.add %x, %w : tensor<2xTYPE>
    func.return %0 : tensor<2xTYPE>
  }
}
"""


def write_program(folder: Path, element: str = "f32", name: str = "net.mlir") -> Path:
    """A program that adds the weight `w` of `w.safetensors`."""
    path = folder / name
    path.write_text(PROGRAM.replace("TYPE", element))
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with its weight file."""
    save_file({"w": np.array([1, 2], np.float32)}, tmp_path / "w.safetensors")
    return write_program(tmp_path)


def test_programs_of_one_stem_have_their_own_weights(
    program: Path, tmp_path: Path
) -> None:
    """`net.mlir`, then `net.lowered`: the first is still what it was."""
    outputs = [tmp_path / name for name in ("a.mlir", "a.lowered", "a", "a.b.mlir")]
    for output in outputs:
        run_glow_opt([str(program), "-o", str(output)])
    files = {Path(f"{output}.safetensors") for output in outputs}
    assert all(file.exists() for file in files)
    for output in outputs:
        run_glow_opt(["-f", "mlir", str(output), "-o", "/dev/null"])


@pytest.mark.parametrize("tool", ["glow", "glow-opt"])
def test_weights_of_others_stay(tool: str, program: Path, tmp_path: Path) -> None:
    """Neither `x.safetensors` nor any file without our mark is replaced."""
    foreign = {
        tmp_path / "x.safetensors": np.zeros(3, np.float32),
        tmp_path / "y.mlir.safetensors": np.ones(3, np.float32),
    }
    for path, array in foreign.items():
        save_file({"mine": array}, path)
    write(tool, program, tmp_path / "x.mlir")
    with pytest.raises(GlowError, match=r"y.mlir.safetensors is not .* move it away"):
        write(tool, program, tmp_path / "y.mlir")
    assert not (tmp_path / "y.mlir").exists()
    for path, array in foreign.items():
        np.testing.assert_array_equal(load_file(path)["mine"], array)


def write(tool: str, program: Path, output: Path) -> None:
    """Write a program again with one of the tools."""
    if tool == "glow":
        run_glow(["compile", str(program), "--emit=graph", "-o", str(output)])
    else:
        run_glow_opt([str(program), "-o", str(output)])


def test_own_weights_are_replaced_and_belong_together(
    program: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.mlir", tmp_path / "second.mlir"
    run_glow_opt([str(program), "-o", str(first)])
    save_file({"w": np.array([3, 4], np.float32)}, tmp_path / "w.safetensors")
    run_glow_opt([str(program), "-o", str(second)])
    run_glow_opt([str(second), "-o", str(second)])
    sidecars = [Path(f"{path}.safetensors") for path in (first, second)]
    sidecars[0].replace(sidecars[1])
    with pytest.raises(GlowError, match="is not the one that was written with"):
        run_glow_opt([str(second), "-o", "/dev/null"])
    second.write_text(second.read_text().replace(digest(second), ""))
    run_glow_opt([str(second), "-o", "/dev/null"])


def digest(program: Path) -> str:
    """The digest in a program's text, with its comma."""
    text = program.read_text()
    begin = text.index(', "', text.index("#glow.weights"))
    return text[begin : text.index(">", begin)]


def test_equal_weights_make_equal_files(program: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / name / "a.mlir" for name in ("1", "2")]
    for output in outputs:
        output.parent.mkdir()
        run_glow_opt([str(program), "-o", str(output)])
    one, other = (Path(f"{path}.safetensors").read_bytes() for path in outputs)
    assert one == other
    assert outputs[0].read_text() == outputs[1].read_text()


def test_old_names_are_read(tmp_path: Path) -> None:
    """`net.safetensors` is the file of a program that names none."""
    path = write_program(tmp_path)
    path.write_text(path.read_text().replace('"w.safetensors"', ""))
    save_file({"w": np.array([1, 2], np.float32)}, tmp_path / "net.safetensors")
    run_glow_opt([str(path), "-o", str(tmp_path / "out.mlir")])
    weights = load_file(tmp_path / "out.mlir.safetensors")
    np.testing.assert_array_equal(weights["w"], np.array([1, 2], np.float32))


# What a file must hold

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "ui8": np.uint8,
    "i32": np.int32,
    "i64": np.int64,
}


@pytest.mark.parametrize("element", DTYPES)
def test_dtypes_agree(element: str, tmp_path: Path) -> None:
    """The dtype of the program is read back; another is refused at its line."""
    path, output = write_program(tmp_path, element), tmp_path / "out.mlir"
    for held, dtype in DTYPES.items():
        array = np.array([1, 2], dtype)
        save_file({"w": array}, tmp_path / "w.safetensors")
        if element == held:
            run_glow_opt([str(path), "-o", str(output)])
            again = load_file(f"{output}.safetensors")["w"]
            assert (again.dtype, again.tobytes()) == (array.dtype, array.tobytes())
            continue
        message = rf"weight 'w' is {array.dtype}\[2\]"
        with pytest.raises(GlowError, match=message) as caught:
            run_glow_opt([str(path), "-o", str(output)])
        assert caught.value.location == f"{path}:4:5"


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1)])
def test_shapes_agree(shape: tuple[int, ...], program: Path, tmp_path: Path) -> None:
    save_file({"w": np.zeros(shape, np.float32)}, tmp_path / "w.safetensors")
    with pytest.raises(GlowError, match="the program says tensor<2xf32>"):
        run_glow(["run", str(program)])


@pytest.mark.parametrize("kind", [ml_dtypes.float8_e4m3fn, np.complex64])
def test_unknown_dtypes(kind: type, program: Path, tmp_path: Path) -> None:
    save_file({"w": np.zeros(2, kind)}, tmp_path / "w.safetensors")
    with pytest.raises(
        GlowError, match=r"has dtype .*, which no program has; there are"
    ):
        run_glow(["run", str(program)])


def test_what_is_no_file(program: Path, tmp_path: Path) -> None:
    """A FIFO is refused, not waited for; and what is damaged."""
    weights = tmp_path / "w.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(GlowError, match="cannot read the weight file"):
        run_glow(["run", str(program)])
    weights.unlink()
    os.mkfifo(weights)
    with pytest.raises(GlowError, match=r"w.safetensors': it is not a file"):
        run_glow(["run", str(program)])


DAMAGED = (
    b"", b"\0\0\0\0\0\0\0\0", b"{}", b"[]", b'{"w": 1}', b'{"w": {"dtype": "F32"}}',
    b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}}',
    b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}',
    b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
    b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0.0, 8.0]}}',
    b'{"w": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 8]}}',
    b'{"w": {"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]}}',
    b'{"w": {"dtype": [], "shape": [2], "data_offsets": [0, 8]}}',
    b'{"__metadata__": 3, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
    b"[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("header", DAMAGED)
def test_damaged_headers(header: bytes, program: Path, tmp_path: Path) -> None:
    content = len(header).to_bytes(8, "little") + header + bytes(8)
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(GlowError, match="weight") as caught:
        run_glow(["run", str(program)])
    assert "w.safetensors" in str(caught.value)


@pytest.mark.parametrize("cut", [True, False])
def test_weights_that_are_overwritten_while_they_are_read(
    cut: bool, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, read = tmp_path / "w.safetensors", weight_file.Header.read
    os.utime(weights, (0, 0))  # A time is no more exact than some milliseconds.

    def overwrite_and_read(*arguments: Any) -> Any:
        with weights.open("r+b") as file:
            file.truncate(10) if cut else file.write(b"\1")
        return read(*arguments)

    monkeypatch.setattr(weight_file.Header, "read", overwrite_and_read)
    with pytest.raises(GlowError, match=r"cannot read .*: somebody writes it"):
        run_glow(["run", str(program)])


# Where output goes


def test_links_are_followed(program: Path, tmp_path: Path) -> None:
    """A link stays a link, and what it names is written; a dangling one too."""
    real, link = tmp_path / "real" / "out.mlir", tmp_path / "link.mlir"
    real.parent.mkdir()
    link.symlink_to(real)
    for _ in range(2):
        run_glow_opt([str(program), "-o", str(link)])
        assert link.is_symlink()
        assert "glow.add" in real.read_text()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(GlowError, match="circle"):
        run_glow_opt([str(program), "-o", str(circle)])


def test_fifos_are_written_to(program: Path, tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    run_glow(["compile", str(program), "--emit=loops", "-o", str(pipe)])
    reader.join()
    assert b"func.func @main" in read[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_to(program: Path) -> None:
    assert is_stream(Path("/dev/null"))  # Else this test would replace it.
    before = os.stat("/dev/null")
    run_glow(["compile", str(program), "--emit=obj", "-o", "/dev/null"])
    after = os.stat("/dev/null")
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    assert not Path("/dev/null.safetensors").exists()


# Text without a file beside it


ODD_NAMES = ("1st", "a/b", "a_b", 'say "hi"', "ümlaut")


@pytest.mark.parametrize("level", ["graph", "lowered", "instr"])
def test_pipes_carry_weights(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `glow compile` prints is read by `glow-opt` with all weights, twice over."""
    line = np.arange(2000, dtype=np.float32)
    arrays = {name: line + k for k, name in enumerate(ODD_NAMES)}
    save_file(arrays, tmp_path / "w.safetensors")
    path = tmp_path / "net.mlir"
    path.write_text(sums_with(ODD_NAMES))
    run_glow(["compile", str(path), f"--emit={level}"])
    texts = [capsys.readouterr().out]
    for number in range(2):
        piped = tmp_path / f"piped{number}.mlir"
        piped.write_text(texts[-1])
        run_glow_opt([str(piped)])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] == texts[2]
    run_glow_opt([str(piped), "-o", str(tmp_path / "out.mlir")])
    found = load_file(tmp_path / "out.mlir.safetensors").values()
    assert sorted(array[0] for array in found) == list(range(len(ODD_NAMES)))


def sums_with(names: Sequence[str]) -> str:
    """A program that adds each of the weights to its input."""
    body, kind = "", "tensor<2000xf32>"
    for number, name in enumerate(names):
        symbol = '"' + name.replace('"', "\\22") + '"'
        body += f"%w{number} = glow.constant @{symbol} : {kind}\n"
        body += f"%{number} = glow.add %x, %w{number} : {kind}\n"
    results = ", ".join(f"%{number}" for number in range(len(names)))
    kinds = ", ".join([kind] * len(names))
    return (
        'builtin.module attributes {glow.weights = #glow.weights<"w.safetensors">} {\n'
        f"func.func @main(%x: {kind}) -> ({kinds}) {{\n"
        f"{body}func.return {results} : {kinds}\n}}\n}}"
    )


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ("", "resource 'w' is missing from the text"),
        (
            '{-# dialect_resources: { builtin: { w: "0x04000000AB" } } #-}',
            "has 1 bytes",
        ),
        (
            '{-# dialect_resources: { builtin: { w: "0x0400000G" } } #-}',
            "no hexadecimal",
        ),
    ],
)
def test_damaged_resources(blob: str, message: str, tmp_path: Path) -> None:
    path = write_program(tmp_path)
    path.write_text(path.read_text().replace("@w", "dense_resource<w>") + blob)
    with pytest.raises((GlowError, ParseError), match=message):
        run_glow_opt([str(path)])
