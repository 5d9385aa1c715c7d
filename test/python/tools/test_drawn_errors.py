"""Errors with the source and a caret, where lines are long, foreign or not there."""

from pathlib import Path

import pytest

from glow.dialects.errors import GlowError
from glow.frontends.kinds import refuse_bytecode
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt
from glow.tools.opt.drawn_errors import drawn, excerpt
from glow.tools.opt.long_options import FLAGS_OF_XDSL, VALUED_OF_XDSL


def test_tabs_are_as_wide_as_in_the_terminal() -> None:
    assert excerpt("\tx\ty\n", 3) == ("        x       y", " " * 16 + "^")


def test_of_a_long_line_the_part_around_the_column_is_shown() -> None:
    line, caret = excerpt(f"%w = dense<{'A' * 5000}!{'B' * 5000}>", 5011)
    assert len(line) == 160
    assert line[len(caret) - 1] == "!"


def test_characters_that_a_terminal_obeys_are_not_printed() -> None:
    assert excerpt("a\x1b[2Jb", 0)[0] == "a?[2Jb"


@pytest.mark.parametrize("place", ["absent.mlir:2:3", "net.mlir:9:3", "net.mlir:2"])
def test_a_place_that_is_not_there_is_only_named(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.mlir").write_text("module {\n}\n")
    error = GlowError("wrong", location=place)
    assert drawn(error, "glow-opt", {}) == f"{place}: error: wrong"


def test_a_column_behind_the_line_is_its_end() -> None:
    assert excerpt("}", 7) == ("}", " ^")


def test_notes_of_others_are_left_out() -> None:
    error = GlowError("wrong")
    error.add_note("module {\n}")
    error.add_note("note: more")
    assert drawn(error, "tool", {}) == "tool: error: wrong\ntool: note: more"


@pytest.mark.parametrize(
    ("producer", "tool"),
    [(b"MLIR22.1.8", "mlir-opt"), (b"StableHLO_v1.8.0", "stablehlo-translate")],
)
def test_bytecode_names_the_command_that_makes_text(producer: bytes, tool: str) -> None:
    with pytest.raises(GlowError, match=f"make text of it with {tool} .*net.bc"):
        refuse_bytecode(b"ML\xefR\x0d" + producer + b"\0\x01", "a/net.bc")


@pytest.mark.parametrize("name", ["model.mlirbc", "model.mlir", "model.onnx"])
def test_bytecode_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"ML\xefR\x0dMLIR22.1.8\0\x01")
    for run in (run_glow_opt, lambda arguments: run_glow(["run", *arguments])):
        with pytest.raises(GlowError, match=f"with mlir-opt {name} -o program.mlir"):
            run([str(tmp_path / name)])


def test_long_options_are_those_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_glow_opt(["-help"])
    text = capsys.readouterr().out
    assert [o for o in (*FLAGS_OF_XDSL, *VALUED_OF_XDSL) if o not in text] == []
