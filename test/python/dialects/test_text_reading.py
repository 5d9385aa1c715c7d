"""What MLIR's printer writes is read: aliases at the end, resources, declared functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError

import glow
from glow.dialects.errors import GlowError
from glow.dialects.locations import node_name, place_of
from glow.dialects.printer import mlir_text
from glow.frontends.mlir import parse_text, read_mlir
from glow.universe import new_context
from glow.verification import verify_module


def stable(text: str) -> str:
    """The text, printed, with locations; fails if any form of it is not stable."""
    for generic in (False, True):
        for locations in (False, True):
            first = mlir_text(
                parse_text(new_context(), text, "f.mlir"),
                generic=generic,
                locations=locations,
            )
            again = parse_text(new_context(), first, "g.mlir")
            assert mlir_text(again, generic=generic, locations=locations) == first
    module = parse_text(new_context(), text, "f.mlir")
    return mlir_text(module, locations=True)


ALIASES = """#loc = loc("top")
func.func @main(%x: f32 loc("x")) -> f32 {
  %a = arith.addf %x, %x : f32 loc(#loc1)
  %b = arith.addf %a, %x : f32 loc(fused[#loc, #loc2])
  %c = arith.addf %b, %x : f32 loc(unknown)
  func.return %c : f32 loc(callsite(#loc1 at #loc))
} loc(#loc)
#loc1 = loc("conv1"(#loc2))
#loc2 = loc("net.py":7:2)
"""


def test_aliases_of_locations_may_follow_their_uses() -> None:
    text = stable(ALIASES)
    assert '%a = arith.addf %x, %x : f32 loc("conv1"("net.py":7:2))' in text
    assert '%b = arith.addf %a, %x : f32 loc(fused["top", "net.py":7:2])' in text
    assert "%c = arith.addf %b, %x : f32 loc(unknown)" in text
    assert 'loc(callsite("conv1"("net.py":7:2) at "top"))' in text
    assert '%x: f32 loc("x")' in text


def test_functions_without_attributes_have_none() -> None:
    text = (
        '"func.func"() <{arg_attrs = [{}], function_type = (i32) -> i32, res_attrs = '
        '[{}], sym_name = "f", sym_visibility = "private"}> ({ ^bb0(%x : i32): '
        '"func.return"(%x) : (i32) -> () }) : () -> ()'
    )
    assert "@f(%x: i32" in stable(text)
    assert ") -> i32 {" in stable(text)


def test_fused_locations_may_have_metadata() -> None:
    text = ALIASES.replace("fused[", 'fused<{k = "m"}>[')
    assert 'loc(fused<{k = "m"}>["top", "net.py":7:2])' in stable(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func private @f() loc(#loc1)", "undefined symbol alias '#loc1'"),
        (
            "func.func private @f() loc(#loc1)\n#loc1 = loc(fused[#loc1])",
            "undefined symbol alias '#loc1'",
        ),
        (
            'func.func private @f() loc(#l)\n#l = loc("a")\n#l = loc("b")',
            "re-declaration of alias '#l'",
        ),
    ],
)
def test_wrong_aliases(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_text(new_context(), text, "f.mlir")


def test_named_operations_keep_their_place() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.relu %x : tensor<2xf32> loc("first")
  %b = glow.relu %a : tensor<2xf32> loc(unknown)
  %c = glow.relu %b : tensor<2xf32> loc("there.mlir":9:9)
  func.return %c : tensor<2xf32>
}"""
    module = parse_text(new_context(), text, "f.mlir")
    places = [(node_name(op), place_of(op)) for op in module.walk()]
    assert ("first", "f.mlir:2:3") in places
    assert (None, "f.mlir:3:3") in places
    assert (None, "there.mlir:9:9") in places
    text_again = mlir_text(module, locations=True)
    assert '%a = glow.relu %x : tensor<2xf32> loc("first")' in text_again
    assert "%b = glow.relu %a : tensor<2xf32> loc(unknown)" in text_again
    wrong = text.replace("tensor<2xf32> loc(", "tensor<3xf32> loc(", 1)
    with pytest.raises(GlowError) as caught:
        verify_module(parse_text(new_context(), wrong, "f.mlir"))
    assert (caught.value.node, caught.value.location) == ("first", "f.mlir:2:3")


def with_resource(*numbers: float) -> str:
    """A program that returns a constant, whose bytes are at the end."""
    data = np.array(numbers, np.float32).tobytes().hex()
    shape = f"tensor<{len(numbers)}xf32>"
    return f"""func.func @main() -> {shape} {{
  %c = glow.constant dense_resource<weights> : {shape}
  func.return %c : {shape}
}}
{{-#
  dialect_resources: {{
    builtin: {{
      weights: "0x04000000{data}"
    }}
  }}
#-}}
"""


def test_each_file_has_its_own_resources(tmp_path: Path) -> None:
    for numbers in ((1.0, -2.0), (3.0, 4.0, 5.0)):
        path = tmp_path / f"{len(numbers)}.mlir"
        path.write_text(with_resource(*numbers))
        np.testing.assert_array_equal(glow.compile(path)(), np.float32(numbers))
        stable(path.read_text())


def test_bytecode_is_said_to_be_that(tmp_path: Path) -> None:
    path = tmp_path / "net.mlir"
    path.write_bytes(b"ML\xefR\r")
    with pytest.raises(
        GlowError, match=r"net\.mlir: MLIR bytecode, not text; make text"
    ):
        glow.compile(path)


def test_resources_of_tools_are_skipped() -> None:
    tools = (
        'external_resources: { mlir_reproducer: { pipeline: "a", verify_each: true } },'
    )
    text = with_resource(1.0, 2.0).replace("{-#", f"{{-# {tools}")
    assert "@weights" in str(parse_text(new_context(), text, "f.mlir"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0x04000000", "0x0400000000", "the resource 'weights' has 9 bytes"),
        ("0x04000000", "04000000", "is no hexadecimal string"),
        ("0x04000000", "0x0400000", "is no hexadecimal string"),
    ],
)
def test_wrong_resources(old: str, new: str, message: str) -> None:
    text = with_resource(1.0, 2.0).replace(old, new)
    with pytest.raises(ParseError, match=message):
        parse_text(new_context(), text, "f.mlir")


def test_attributes_of_declared_arguments() -> None:
    text = """func.func private @f(i32 {a.b = 1 : i64}, f32 loc("y")) -> (i32 {a.r})
func.func private @g(i32 {a.b = 1 : i64}) attributes {a.c}
func.func private @plain(i32) -> i32
"""
    module = parse_text(new_context(), text, "f.mlir")
    f, g, plain = (op for op in module.ops if isinstance(op, FuncOp))
    assert str(f.arg_attrs) == "[{a.b = 1 : i64}, {}]"
    assert str(g.arg_attrs) == "[{a.b = 1 : i64}]"
    assert plain.arg_attrs is None
    again = parse_text(new_context(), mlir_text(module), "g.mlir")
    assert module.is_structurally_equivalent(again)
    assert "func.func private @plain(i32) -> i32" in stable(text)


UNDEFINED = [
    (
        """func.func @f(%x: f32) -> f32 {
  %a = arith.addf %x, %b : f32
  %b = arith.addf %x, %x : f32
  func.return %a : f32
}""",
        "f.mlir:2:3: 'arith.addf': operand 1 (%b) is used where it is not defined",
    ),
    (
        """func.func @f() -> f32 {
  func.return %y : f32
}
func.func @g(%y: f32) -> f32 {
  func.return %y : f32
}""",
        "f.mlir:2:3: 'func.return': operand 0 (%y) is used where it is not defined",
    ),
    (
        """func.func @f(%x: i1, %y: f32) -> f32 {
  cf.cond_br %x, ^bb1, ^bb2
^bb1:
  %a = arith.addf %y, %y : f32
  cf.br ^bb3
^bb2:
  cf.br ^bb3
^bb3:
  func.return %a : f32
}""",
        "f.mlir:9:3: 'func.return': operand 0 (%a) is used where it is not defined",
    ),
    (
        """func.func @f(%n: index, %y: f32) -> f32 {
  scf.for %i = %n to %n step %n {
    %a = arith.addf %y, %y : f32
  }
  func.return %a : f32
}""",
        "f.mlir:5:15: use of undefined value %a",
    ),
]


@pytest.mark.parametrize(("text", "message"), UNDEFINED)
def test_uses_that_are_not_dominated(text: str, message: str) -> None:
    with pytest.raises((GlowError, ParseError)) as caught:
        verify_module(parse_text(new_context(), text, "f.mlir"))
    error = caught.value
    if isinstance(error, ParseError):
        found = f"{error.span.get_location()}: {error.msg}"
    else:
        found = f"{error.location}: {error.one_line()}"
    assert found == message


def test_uses_that_are_dominated() -> None:
    """Blocks may stand in any order, and loops may go back."""
    text = """func.func @f(%x: i1, %y: f32) -> f32 {
  cf.br ^bb2
^bb1:
  %b = arith.addf %a, %y : f32
  cf.cond_br %x, ^bb1, ^bb3
^bb2:
  %a = arith.addf %y, %y : f32
  cf.cond_br %x, ^bb1, ^bb4
^bb3:
  func.return %b : f32
^bb4:
  cf.cond_br %x, ^bb2, ^bb5
^bb5:
  func.return %a : f32
}"""
    verify_module(parse_text(new_context(), text, "f.mlir"))
    stable(text)


def test_a_text_that_python_reads_fails_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text("func.func @f() {\n  func.retrun\n}\n")
    with pytest.raises(GlowError) as caught:
        read_mlir(path, new_context())
    assert caught.value.location == f"{path}:2:3"
    assert str(caught.value).startswith(f"{path}:2:3: unknown operation 'func.retrun'")
    with pytest.raises(GlowError, match=r"none\.mlir: no such file or directory"):
        glow.compile(tmp_path / "none.mlir")


def test_the_tools_name_place_and_node(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(UNDEFINED[0][0])
    for tool, *options in (("glow_opt",), ("glow", "run")):
        command = [sys.executable, "-m", f"glow.tools.{tool}", *options, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.splitlines()[0] == (
            f"{path}:2:3: error: 'arith.addf': operand 1 (%b) is used where it is not "
            "defined"
        )
