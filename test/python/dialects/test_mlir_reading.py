"""The lexer and the types that are read once give what xDSL gives."""

import random
from itertools import chain

import pytest
from places import ROOT
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from glow.frontends.mlir import parse_text
from glow.frontends.mlir_lexer import QuickLexer
from glow.frontends.mlir_strings import check_strings
from glow.universe import new_context

FILES = [
    *sorted((ROOT / "test" / "dialects").rglob("ops.mlir")),
    *sorted((ROOT / "test" / "tools" / "inputs").glob("*.txt")),
]
PIECES = [
    *"%#!^@:,()}{[]<>=+-/*?|.\"'$_ \n\t\v0159xefEab\\~;é²",
    "-#",
    "#-}",
    "{-#",
    "->",
    "...",
    "0x",
    "0x1F",
    "1.5e-3",
    "2.e+",
    "7E5",
    "//",
    "// a\n",
    "%0",
    "#map.1",
    "!t<",
    "^bb0",
    '@"a b"',
    "4x?xf32",
    "glow.relu",
    '"\\0A"',
    '"\\FF"',
]


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, int, int] | str]:
    """All tokens with their places, and the error at the end, if there is one."""
    found: list[tuple[MLIRTokenKind, int, int] | str] = []
    try:
        while True:
            token = lexer.lex()
            found.append((token.kind, token.span.start, token.span.end))
            if token.kind == MLIRTokenKind.EOF:
                return found
    except ParseError as error:
        return [*found, f"{error.span}: {error.msg}"]


def random_texts(count: int) -> list[str]:
    """Texts whose strings end, as the parser makes sure before."""
    chosen = random.Random(7)
    texts = ["".join(chosen.choices(PIECES, k=12)) for _ in range(count)]
    return [text for text in texts if strings_end(text)]


def strings_end(text: str) -> bool:
    try:
        check_strings(text, "f")
    except ParseError:
        return False
    return True


def test_tokens_are_those_of_xdsl() -> None:
    files = [path.read_text("utf-8", "replace") for path in FILES]
    for text in chain(filter(strings_end, files), random_texts(2000)):
        ours, theirs = QuickLexer(Input(text, "f")), MLIRLexer(Input(text, "f"))
        assert tokens(ours) == tokens(theirs), text


TYPES = [
    "tensor<2x3xf32>",
    "tensor<*xf32>",
    "tensor<?x2xi8>",
    "tensor<2xf32, #glow.none>",
    "memref<4x4xf32, strided<[8, 1], offset: ?>>",
    "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>",
    "memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1)>, 1 : i32>",
    "vector<[4]xf32>",
    "vector<2x8xbf16>",
    "tensor<2x!quant.uniform<i8:f32, 0.5:3>>",
    "tensor<2x!quant.uniform<i8:f32, 0.25:3>>",
    "index",
    "ui8",
    "f64",
    "(i32, f32) -> vector<2xf32>",
    "tuple<i32, tensor<2xf32>>",
]


def program(types: list[str]) -> str:
    arguments = ", ".join(f"%{n} : {one}" for n, one in enumerate(types))
    listed = ", ".join(types)
    uses = ", ".join(f"%{n}" for n in range(len(types)))
    return (
        f'func.func private @f({arguments}) {{ "a.b"({uses}) : ({listed}) -> () '
        "func.return }"
    )


def plain(text: str) -> ModuleOp:
    context = new_context()
    context.allow_unregistered = True
    return Parser(context, text).parse_module()


def test_types_are_those_of_xdsl_when_they_come_again() -> None:
    text = program([one for one in TYPES if "glow.none" not in one] * 2)
    context = new_context()
    context.allow_unregistered = True
    assert parse_text(context, text, "f").is_structurally_equivalent(plain(text))


@pytest.mark.parametrize(
    "constant",
    [
        "dense<1> : tensor<2x!stuff>",
        "dense<1> : tensor<?xi32>",
        "dense<1> : i32",
        "dense<1> : tensor<2xindex> more",
        "dense<1.0> : memref<2xf32>",
        "dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>",
        "dense<1> : vector<2xi7>",
        "dense<1> : tensor<2xnone>",
    ],
)
def test_constants_are_read_or_refused_as_by_xdsl(constant: str) -> None:
    text = f'"a.b"() {{ v = {constant}, w = {constant} }} : () -> ()'
    outcomes = []
    for read in (plain, lambda text: parse_text(new_allowing(), text, "<unknown>")):
        try:
            outcomes.append(str(read(text)))
        except ParseError as error:
            outcomes.append(f"{error.span}: {error.msg}")
    assert outcomes[0] == outcomes[1]


def new_allowing():
    context = new_context()
    context.allow_unregistered = True
    return context
