"""The interpreter's interface, and its instructions on memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.nodes.differential import Array, random_array
from support.nodes.interpreter_testing import parse
from xdsl.interpreter import OpCounter

from glow.dialects.errors import GlowError
from glow.dialects.weights import weights_of
from glow.interpreter import evaluate_node, make_interpreter, run

RELU = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = glow.relu %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


# Interface ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "function 'main' takes 1 inputs, not 0"),
        ([np.zeros((2, 3))], "input 0 is float64 [2, 3], expected float32 [2, 3]"),
        (
            [np.zeros((3, 2), np.float32)],
            "input 0 is float32 [3, 2], expected float32 [2, 3]",
        ),
    ],
)
def test_inputs_are_checked(inputs: Sequence[Array], message: str) -> None:
    with pytest.raises(GlowError) as error:
        run(parse(RELU), inputs)
    assert str(error.value) == message


def test_unknown_function() -> None:
    with pytest.raises(GlowError, match="no function 'other'; the module has main"):
        run(parse(RELU), [], "other")


def test_unknown_operation_is_one_line() -> None:
    module = parse("""
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "tensor.empty"() : () -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }""")
    with pytest.raises(
        GlowError, match=r"interpreting .main.: .*tensor\.empty"
    ) as error:
        run(module, [random_array((2,))])
    assert "\n" not in str(error.value)


def test_missing_weight_is_one_line() -> None:
    module = parse("""
    func.func @main() -> tensor<2xf32> {
      %0 = glow.constant @w : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }""")
    with pytest.raises(GlowError, match="weight 'w' is missing"):
        run(module, [])
    weights_of(module)["w"] = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(run(module, [])[0], [1, 2])


@pytest.mark.parametrize("index", [-4, 3, 100])
def test_gather_out_of_range(index: int) -> None:
    module = parse("""
    func.func @main(%x: tensor<3x2xf32>, %i: tensor<1xi64>) -> tensor<1x2xf32> {
      %0 = glow.gather %x, %i : tensor<1x2xf32>
      func.return %0 : tensor<1x2xf32>
    }""")
    with pytest.raises(GlowError, match=f"index {index} is outside of axis 0"):
        run(module, [random_array((3, 2)), np.array([index])])


def test_dynamic_slice_out_of_range() -> None:
    module = parse("""
    func.func @main(%x: tensor<3x2xf32>, %i: index) -> tensor<2xf32> {
      %0 = glow.dynamic_slice %x, %i : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }""")
    with pytest.raises(GlowError, match="index 3 is outside of axis 0 of size 3"):
        run(module, [random_array((3, 2)), np.int64(3)])


def test_predicate_is_a_hint() -> None:
    module = parse("""
    func.func @main(%x: tensor<2xf32>, %p: tensor<2xi1>) -> tensor<2xf32> {
      %0 = glow.neg %x pred %p : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }""")
    x = random_array((2,))
    np.testing.assert_array_equal(run(module, [x, np.array([True, False])])[0], -x)


def test_evaluate_node() -> None:
    node = next(op for op in parse(RELU).walk() if op.name == "glow.relu")
    (result,) = evaluate_node(node, [np.array([[-1, 2, 0]] * 2, np.float32)])
    np.testing.assert_array_equal(result, [[0, 2, 0]] * 2)


def test_listeners_see_each_node() -> None:
    module, counter = parse(RELU), OpCounter()
    interpreter = make_interpreter(module)
    interpreter.listeners = (counter,)
    interpreter.call_op("main", (random_array((2, 3)),))
    assert counter.ops == {"glow.relu": 1, "func.return": 1}


def test_functions_call_functions() -> None:
    module = parse("""
    func.func private @negate(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = glow.neg %x : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @negate(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }""")
    x = random_array((2,))
    np.testing.assert_array_equal(run(module, [x])[0], -x)


# Instructions ---------------------------------------------------------------------------

INSTRUCTIONS = """
func.func @main(%y: memref<2x4xf32>, %x: memref<2x4xf32>) {{
  %two = instr.weight dense<2.0> : tensor<1xf32> : memref<1xf32>
  %a = instr.alloc{first} : memref<2x4xf32>
  %b = instr.alloc{second} : memref<2x4xf32>
  instr.mul @out %a, @in %x, @in %two
  instr.stacked @out %b, @in %x, @in %two {{
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    glow.yield %s
  }}
  instr.sub @out %y, @in %a, @in %b
  instr.dealloc %a
  instr.dealloc %b
  func.return
}}
"""


@pytest.mark.parametrize(
    "offsets", [("", ""), (" offset 0", " offset 64"), (" offset 128", " offset 0")]
)
def test_instructions(offsets: tuple[str, str]) -> None:
    module = parse(INSTRUCTIONS.format(first=offsets[0], second=offsets[1]))
    x = random_array((2, 4))
    (result,) = run(module, [x])
    np.testing.assert_array_equal(result, x * np.float32(2) - (x + np.float32(2)))


def test_wrong_sharing_shows() -> None:
    module = parse(INSTRUCTIONS.format(first=" offset 0", second=" offset 0"))
    (result,) = run(module, [random_array((2, 4))])
    np.testing.assert_array_equal(result, np.zeros((2, 4)))


def run_instructions(body: str, x: Array) -> Array:
    """`%y` of a body that reads `%x`, both [2, 3]."""
    module = parse(f"""
    func.func @main(%x: memref<2x3xf32>, %y: memref<2x3xf32>) {{
      {body}
      func.return
    }}""")
    return run(module, [x])[0]


def test_uninitialised_memory_is_nan() -> None:
    body = """%a = instr.alloc : memref<2x3xf32>
      instr.relu @out %y, @in %a"""
    assert np.isnan(run_instructions(body, random_array((2, 3)))).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("instr.relu @out %y, @in %a", "operand 1 of instr.relu is used after"),
        ("instr.dealloc %a", "operand 0 of instr.dealloc is used after"),
        ("instr.dealloc %x", "instr.dealloc of something that instr.alloc did not"),
    ],
)
def test_use_after_dealloc(body: str, message: str) -> None:
    text = f"""%a = instr.alloc : memref<2x3xf32>
      instr.copy @out %y, @in %x
      instr.dealloc %a
      {body}"""
    with pytest.raises(GlowError, match=message):
        run_instructions(text, random_array((2, 3)))


def test_weights_are_read_only() -> None:
    body = """%w = instr.weight dense<2.0> : tensor<2x3xf32> : memref<2x3xf32>
      instr.copy @out %y, @in %x
      instr.relu @out %w, @in %x"""
    with pytest.raises(GlowError, match="read-only"):
        run_instructions(body, random_array((2, 3)))


def test_views_and_insert() -> None:
    x = random_array((2, 3))
    body = """%row = instr.tensorview %x offset 3 : memref<1x3xf32>
      %index = arith.constant 0 : index
      %first = instr.dynamic_view %x, %index : memref<3xf32>
      %flat = instr.tensorview %y : memref<6xf32>
      %top = instr.tensorview %y offset 0 : memref<3xf32>
      instr.splat @out %flat value 7.0 : f32
      instr.insert @inout %y, @in %row offsets [1, 0]
      instr.neg @out %top, @in %first"""
    np.testing.assert_array_equal(run_instructions(body, x), [-x[0], x[1]])


def test_instruction_may_write_what_it_reads() -> None:
    x = random_array((3, 3))
    module = parse("""
    func.func @main(%x: memref<3x3xf32>, %y: memref<3x3xf32>) {
      instr.copy @out %y, @in %x
      instr.transpose @out %y, @in %y permutation [1, 0]
      func.return
    }""")
    np.testing.assert_array_equal(run(module, [x])[0], x.T)
