"""What the language server knows of a text."""

import pytest

from glow.tools.lsp.document import Document, programs
from glow.tools.lsp.hover import hover_at
from glow.tools.lsp.symbols import Symbol, outline
from glow.universe import new_context

NETWORK = """\
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = glow.constant dense<1.0> : tensor<4x3x1x1xf32>
  %c = glow.conv2d %x, %w : tensor<1x4x8x8xf32> loc("conv1")
  %y = func.call @helper(%c) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %y : tensor<1x4x8x8xf32>
}
func.func private @helper(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
    attributes {map = #map} {
  %t = glow.tanh %x : tensor<1x4x8x8xf32>
  func.return %t : tensor<1x4x8x8xf32>
}
"""

BROKEN = """\
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.rleu %x : tensor<2xf32>
  %b = glow.add %a, %x : tensor<2xf32>
  %c = glow.tanh %x : tensor<2xf32
  %d = glow.relu %nowhere : tensor<2xf32>
  %e = arith.addi %later, %later : i32
  %f = "scf.if"(%condition) ({
    %g = glow.tnah %x : tensor<2xf32>
    scf.yield %g : tensor<2xf32>
  }, {
    scf.yield %x : tensor<2xf32>
  }) : (i1) -> tensor<2xf32>
  %h = glow.exp ; %x
  func.return %b : tensor<2xf32>
}
func.func @other(%x: i32) -> i32 {
  func.return %x : i64
}
"""


CONTEXT = new_context()


def read(text: str) -> Document:
    return Document.read(text, "net.mlir", CONTEXT)


def problems(text: str) -> list[tuple[int, str]]:
    """The line and the message of each."""
    found = read(text).problems
    return sorted((text.count("\n", 0, p.place.start) + 1, p.message) for p in found)


@pytest.fixture(scope="module")
def network() -> Document:
    document = read(NETWORK)
    assert document.problems == []
    return document


def test_errors_of_several_operations_are_told_at_once() -> None:
    assert problems(BROKEN) == [
        (2, "unknown operation 'glow.rleu'; did you mean 'glow.relu'?"),
        (5, "Expected '>' after builtin parameter list"),
        (5, "value %nowhere is used before it is defined"),
        (6, "use of undefined value %later"),
        (7, "use of undefined value %condition"),
        (8, "unknown operation 'glow.tnah'; did you mean 'glow.tanh'?"),
        (13, "Unexpected character: ;"),
        (
            17,
            "operand is used with type i64, but has been previously used or defined "
            "with type i32",
        ),
    ]


def test_what_does_not_verify_is_told_at_its_name() -> None:
    text = NETWORK.replace("%x : tensor<1x4x8x8xf32>", "%x : tensor<5xf32>")
    document = read(text.replace("%t : tensor<1x4x8x8xf32>", "%t : tensor<5xf32>"))
    places = [document.text[p.place.start : p.place.end] for p in document.problems]
    assert places == ["glow.tanh", "func.return"]
    assert document.problems[0].message.startswith("'glow.tanh': result 0 has type")


@pytest.mark.parametrize("cut", range(0, len(NETWORK), 23))
def test_any_beginning_of_a_text_is_read(cut: int) -> None:
    for text in (NETWORK[:cut], NETWORK[cut:], NETWORK[:cut] + "\"'" + NETWORK[cut:]):
        document = read(text)
        for problem in document.problems:
            assert 0 <= problem.place.start <= problem.place.end <= len(text) + 1
            assert "\n" not in problem.message
        outline(document)
        hover_at(document, cut, "net.mlir")
        document.definition_at(cut)


def test_programs_of_a_file_stand_at_their_places() -> None:
    text = "func.func @a() {\n  no.a\n}\n// -----\nfunc.func @b() {\n  glow.no\n}\n"
    assert [len(one) for one in programs(text)] == [26, len(text)]
    assert [line for line, _ in problems(text)] == [2, 6]


# -- hover


def test_hover_on_a_value_tells_its_type_and_node(network: Document) -> None:
    text = hover_at(network, NETWORK.index("%c)"), "net.mlir")
    assert text is not None
    assert "%c : tensor<1x4x8x8xf32>" in text
    assert "result 0 of `glow.conv2d`: Two-dimensional convolution" in text
    assert "node `conv1` of the network" in text


def test_hover_on_an_argument(network: Document) -> None:
    text = hover_at(network, NETWORK.index("%x, %w") + 1, "net.mlir")
    assert text is not None
    assert text.endswith("argument 0 of `func.func @main`")


def test_hover_on_an_operation_tells_its_rule(network: Document) -> None:
    text = hover_at(network, NETWORK.index("conv2d"), "net.mlir")
    assert text is not None
    assert "(tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>" in text
    assert "Shape rule: The result [N, O, OH, OW]" in text


def test_hover_tells_the_operator_of_onnx_and_other_files(network: Document) -> None:
    tanh = hover_at(network, NETWORK.index("glow.tanh"), "net.mlir")
    assert tanh is not None
    assert "ONNX: `Tanh`" in tanh
    located = NETWORK.replace('loc("conv1")', 'loc("model.py":7:3)')
    text = hover_at(read(located), located.index("conv2d"), "net.mlir")
    assert text is not None
    assert "from `model.py:7:3`" in text


def test_hover_on_a_symbol_and_on_nothing(network: Document) -> None:
    symbol = hover_at(network, NETWORK.index("@helper(%c)"), "net.mlir")
    assert symbol is not None
    assert "func.func @helper : (tensor<1x4x8x8xf32>)" in symbol
    assert hover_at(network, NETWORK.index("dense<"), "net.mlir") is None


def test_hover_in_what_cannot_be_read_goes_by_the_name() -> None:
    text = hover_at(read(BROKEN), BROKEN.index("%x : tensor<2xf32>\n  %b"), "net.mlir")
    assert text is not None
    assert "argument 0 of `func.func @main`" in text


# -- definitions and symbols


@pytest.mark.parametrize(
    ("use", "definition"),
    [
        ("%c)", "%c = "),
        ("%x, %w", "%x: tensor<1x3"),
        ("%x : tensor", "%x: tensor<1x4"),
        ("@helper(%c)", "@helper(%x"),
        ("#map}", "#map = "),
    ],
)
def test_definitions(network: Document, use: str, definition: str) -> None:
    found = network.definition_at(NETWORK.index(use))
    assert found is not None
    assert found.start == NETWORK.index(definition)


def test_the_outline_is_of_functions_and_their_values(network: Document) -> None:
    def names(symbols: list[Symbol]) -> list[object]:
        return [(one.name, names(one.children)) for one in symbols]

    assert names(list(outline(network))) == [
        ("@main", [("%w", []), ("%c", []), ("%y", [])]),
        ("@helper", [("%t", [])]),
    ]
