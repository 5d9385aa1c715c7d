"""Failures become one line with a place."""

import errno

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.utils.exceptions import ParseError, VerifyException

from glow.diagnostics import diagnose, did_you_mean, run_reporting
from glow.dialects.errors import GlowError, one_line
from glow.dialects.locations import node_name, place_of
from glow.frontends.mlir import parse_text
from glow.frontends.mlir_strings import check_strings
from glow.universe import new_context


def test_diagnose_keeps_one_line() -> None:
    assert diagnose(VerifyException("first\n  second")).message == "first second"
    error = GlowError("no", node="conv1", location="f.mlir:3:4", hint="do that")
    diagnosis = diagnose(error)
    assert diagnosis.text("glow") == "f.mlir:3:4: error: no (at node 'conv1'); do that"
    assert diagnosis.line == 3
    missing = FileNotFoundError(errno.ENOENT, "No such file", "w.npy")
    assert diagnose(missing).text("glow") == "glow: error: w.npy: no such file"
    assert "internal error: KeyError" in diagnose(KeyError("x")).message


def test_run_reporting(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise GlowError("bad\nnews")

    assert run_reporting("tool", lambda: None, debug=False) == 0
    assert run_reporting("tool", fail, debug=False) == 1
    assert capsys.readouterr().err == "tool: error: bad news\n"
    assert run_reporting("tool", fail, debug=True) == 1
    assert "Traceback" in capsys.readouterr().err


def test_interrupt_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert run_reporting("tool", interrupt, debug=False) == 130
    assert capsys.readouterr().err == "tool: error: interrupted\n"


@pytest.mark.parametrize(
    "text", ['"a" "b\\"c" // "', "// it's \"\n", '"\\22" ""', 'a = "/" // x', ""]
)
def test_complete_strings(text: str) -> None:
    check_strings(text, "f.mlir")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"a', "f.mlir:1:1"),
        ('x\n  "a\nb"', "f.mlir:2:3"),
        ('"a" "b', "f.mlir:1:5"),
        ('"a\\', "f.mlir:1:1"),
        ('"a\\q"', "f.mlir:1:1"),
        # Exponential in xDSL's own pattern.
        ('"' + 10_000 * "x", "f.mlir:1:1"),
        ('"' + 10_000 * "x" + '\\q"', "f.mlir:1:1"),
    ],
)
def test_incomplete_strings(text: str, place: str) -> None:
    with pytest.raises(ParseError) as caught:
        check_strings(text, "f.mlir")
    assert diagnose(caught.value).location == place


def test_undefined_value_is_reported_at_its_use() -> None:
    text = "func.func @f() {\n  func.call @g(%x) : (i32) -> ()\n  func.return\n}\n"
    with pytest.raises(ParseError) as caught:
        parse_text(new_context(), text, "f.mlir")
    assert diagnose(caught.value).location == "f.mlir:2:16"
    assert diagnose(caught.value).message == "use of undefined value %x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {" * 3000, "nests too deeply"),
        ("func.func @f() attributes {a = " + "[" * 5000, "nests too deeply"),
        ("x.y", "unknown operation 'x.y'"),
        ("func.retrun", "did you mean 'func.return'?"),
        (
            '"test.op"() {a = dense<0> : tensor<99999x99999x99999xf32>} : () -> ()',
            "dense constant of 999970000299999 elements",
        ),
    ],
)
def test_hostile_text(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_text(new_context(), text, "f.mlir")
    assert message in diagnose(caught.value).message


def test_operations_know_their_place() -> None:
    text = (
        'func.func @f() {\n  func.return\n}\nfunc.func @g() {\n func.return loc("r")\n}'
    )
    module = parse_text(new_context(), text, "f.mlir", line_offset=10)
    places = {(op.name, place_of(op), node_name(op)) for op in module.walk()}
    assert ("func.return", "f.mlir:12:3", None) in places
    # A name does not take the place's stead.
    assert ("func.return", "f.mlir:15:2", "r") in places


def test_places_inside_names() -> None:
    place = FileLineColLoc(StringAttr("f.py"), IntAttr(3), IntAttr(4))
    operation = ReturnOp()
    operation.location = NameLoc(StringAttr("conv1"), place)
    assert node_name(operation) == "conv1"
    assert place_of(operation) == "f.py:3:4"


def test_did_you_mean() -> None:
    assert did_you_mean("canonicalise", ["canonicalize"]) == (
        "; did you mean 'canonicalize'?"
    )
    assert did_you_mean("xyz", ["canonicalize"]) == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a  b\n c", "a b c"),
        (f"no [{', '.join(map(str, range(16)))}]", None),
        (
            f"no [{', '.join(map(str, range(512)))}]",
            "no [0, 1, 2, 3, 4, 5, 6, 7, ... (512 numbers)]",
        ),
        (
            f"no ({','.join(['-1.5e-07'] * 20)})",
            f"no ({'-1.5e-07,' * 8}... (20 numbers))",
        ),
        ("x" * 240, None),
        (f"'{'x' * 5000}' is long", f"'{'x' * 119}...{'x' * 59}' is long"),
        ("word " * 1000, "word " * 400 + "..."),
    ],
)
def test_long_parts_are_cut(text: str, line: str | None) -> None:
    assert one_line(text) == (text if line is None else line)
    assert GlowError(text).one_line() == one_line(text)


def test_long_texts_are_cut_in_linear_time() -> None:
    """Patterns that try again and again would take minutes."""
    for text in ("1, " * 200_000, "1" * 600_000, "1,-" * 200_000, "- " * 300_000):
        assert len(one_line(text)) < 2100
