"""The interpreter's interface, scalar regions, instructions and backend nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from differential import Array, assert_close, random_array
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import OpCounter

from glow.dialects import cpu
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import Packing, evaluate_node, make_interpreter, run
from glow.universe import new_context


def parse(text: str) -> ModuleOp:
    module = parse_text(new_context(), text, "test.mlir")
    module.verify()
    return module


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
    with pytest.raises(GlowError, match=f"gather index {index} is outside of axis 0"):
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


# Scalar regions -------------------------------------------------------------------------


def run_region(body: str, element: str, result: str, *inputs: Array) -> Array:
    """The result of `%r = ...` on elements `%a`, `%b`, ... of the inputs."""
    names = "abc"[: len(inputs)]
    size = len(inputs[0])
    arguments = ", ".join(f"%{name}: {element}" for name in names)
    parameters = ", ".join(f"%{n}{n}: tensor<{size}x{element}>" for n in names)
    operands = ", ".join(f"%{n}{n}" for n in names)
    module = parse(f"""
    func.func @main({parameters}) -> tensor<{size}x{result}> {{
      %0 = glow.fused {operands} {{
      ^bb0({arguments}):
        {body}
        glow.yield %r
      }} : tensor<{size}x{result}>
      func.return %0 : tensor<{size}x{result}>
    }}""")
    return run(module, inputs)[0]


INTEGERS = np.array([-128, -7, -3, -1, 0, 1, 3, 7, 127], np.int8)
LEFT, RIGHT = (side.ravel() for side in np.meshgrid(INTEGERS, INTEGERS))


def wrap(value: int) -> int:
    """The value of the low eight bits as a signed integer."""
    return (value + 128) % 256 - 128


INTEGER_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: int(a / b) if b else 0,
    "divui": lambda a, b: (a % 256) // (b % 256) if b else 0,
    "floordivsi": lambda a, b: a // b if b else 0,
    "remui": lambda a, b: (a % 256) % (b % 256) if b else 0,
    "remsi": lambda a, b: int(math.fmod(a, b)) if b else 0,
    "maxsi": max,
    "minsi": min,
    "maxui": lambda a, b: max(a % 256, b % 256),
    "minui": lambda a, b: min(a % 256, b % 256),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("mnemonic", INTEGER_OPERATIONS)
def test_integer_operation(mnemonic: str) -> None:
    function = INTEGER_OPERATIONS[mnemonic]
    result = run_region(f"%r = arith.{mnemonic} %a, %b : i8", "i8", "i8", LEFT, RIGHT)
    pairs = zip(LEFT.tolist(), RIGHT.tolist(), strict=True)
    assert result.tolist() == [wrap(function(a, b)) for a, b in pairs]


@pytest.mark.parametrize(
    ("predicate", "function"),
    [
        ("eq", lambda a, b: a == b),
        ("slt", lambda a, b: a < b),
        ("sge", lambda a, b: a >= b),
        ("ult", lambda a, b: a % 256 < b % 256),
        ("uge", lambda a, b: a % 256 >= b % 256),
    ],
)
def test_integer_comparison(
    predicate: str, function: Callable[[int, int], bool]
) -> None:
    body = f"%r = arith.cmpi {predicate}, %a, %b : i8"
    result = run_region(body, "i8", "i1", LEFT, RIGHT)
    pairs = zip(LEFT.tolist(), RIGHT.tolist(), strict=True)
    assert result.tolist() == [function(a, b) for a, b in pairs]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("oeq", [False, True, False]),
        ("olt", [True, False, False]),
        ("ult", [True, False, True]),
        ("une", [True, False, True]),
        ("one", [True, False, False]),
        ("ord", [True, True, False]),
        ("uno", [False, False, True]),
    ],
)
def test_float_comparison(predicate: str, expected: list[bool]) -> None:
    x, y = np.array([[1, 2, 3], [2, 2, np.nan]], np.float32)
    body = f"%r = arith.cmpf {predicate}, %a, %b : f32"
    assert run_region(body, "f32", "i1", x, y).tolist() == expected


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        ("%r = arith.extsi %a : i8 to i32", "i32", [-128, -1, 5]),
        ("%r = arith.extui %a : i8 to i32", "i32", [128, 255, 5]),
        ("%r = arith.sitofp %a : i8 to f32", "f32", [-128.0, -1.0, 5.0]),
        ("%r = arith.uitofp %a : i8 to f32", "f32", [128.0, 255.0, 5.0]),
        ("%r = math.absi %a : i8", "i8", [-128, 1, 5]),
    ],
)
def test_integer_conversion(body: str, result: str, expected: list[float]) -> None:
    x = np.array([-128, -1, 5], np.int8)
    assert run_region(body, "i8", result, x).tolist() == expected


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        ("%r = arith.addi %a, %b : i1", "i1", [False, True, True, False]),
        ("%r = arith.subi %a, %b : i1", "i1", [False, True, True, False]),
        ("%r = arith.muli %a, %b : i1", "i1", [False, False, False, True]),
        ("%r = arith.extsi %a : i1 to i8", "i8", [0, 0, -1, -1]),
        ("%r = arith.extui %a : i1 to i8", "i8", [0, 0, 1, 1]),
        ("%r = arith.sitofp %a : i1 to f32", "f32", [0.0, 0.0, -1.0, -1.0]),
        ("%r = arith.cmpi slt, %a, %b : i1", "i1", [False, False, True, False]),
        ("%r = arith.cmpi ult, %a, %b : i1", "i1", [False, True, False, False]),
    ],
)
def test_booleans(body: str, result: str, expected: list[float]) -> None:
    x, y = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.bool_)
    assert run_region(body, "i1", result, x, y).tolist() == expected


def test_truncation_keeps_the_low_bit() -> None:
    x = np.array([0, 1, 2, 3, -1], np.int8)
    result = run_region("%r = arith.trunci %a : i8 to i1", "i8", "i1", x)
    assert result.tolist() == [False, True, False, True, True]


def test_results_are_the_callers_own() -> None:
    x = random_array((2, 3))
    module = parse("""
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
      %0 = glow.reshape %x : tensor<6xf32>
      func.return %0, %x : tensor<6xf32>, tensor<2x3xf32>
    }""")
    for result in run(module, [x]):
        assert result.flags.writeable
        assert not np.shares_memory(result, x)


def test_float_conversions_saturate() -> None:
    x = np.array([-1.75, 1.75, 300.0, -300.0, np.nan, np.inf], np.float32)
    result = run_region("%r = arith.fptosi %a : f32 to i8", "f32", "i8", x)
    assert result.tolist() == [-1, 1, 127, -128, 0, 127]


def test_regions_round_each_step() -> None:
    x = np.array([1.0, 3.0], np.float32)
    body = """%t = arith.truncf %a : f32 to bf16
        %k = arith.constant 0.001 : bf16
        %s = arith.addf %t, %k : bf16
        %r = arith.extf %s : bf16 to f32"""
    np.testing.assert_array_equal(run_region(body, "f32", "f32", x), x)


def test_fused_multiply_add_rounds_once() -> None:
    x = np.array([1 + 2**-12], np.float32)
    y = np.array([-(1 + 2**-11)], np.float32)
    result = run_region("%r = math.fma %a, %a, %b : f32", "f32", "f32", x, y)
    assert result[0] == 2**-24


@pytest.mark.parametrize(
    ("mnemonic", "function"),
    [
        ("exp", math.exp),
        ("exp2", lambda x: 2**x),
        ("log1p", math.log1p),
        ("erf", math.erf),
        ("tanh", math.tanh),
        ("floor", math.floor),
        ("roundeven", round),
        ("round", lambda x: math.floor(x + 0.5)),
        ("sinh", math.sinh),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
    ],
)
def test_math_functions_are_correctly_rounded(
    mnemonic: str, function: Callable[[float], float]
) -> None:
    x = np.abs(random_array((50,)))
    result = run_region(f"%r = math.{mnemonic} %a : f32", "f32", "f32", x)
    expected = np.array([function(float(element)) for element in x], np.float32)
    np.testing.assert_array_equal(result, expected)


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


# Nodes of the CPU backend ---------------------------------------------------------------


def test_pack_and_unpack() -> None:
    x = random_array((2, 5, 3, 2))
    module = parse("""
    func.func @main(%x: tensor<2x5x3x2xf32>)
        -> (tensor<2x2x3x2x4xf32>, tensor<2x5x3x2xf32>) {
      %0 = cpu.pack %x lanes 4 : tensor<2x2x3x2x4xf32>
      %1 = cpu.unpack %0 channels 5 : tensor<2x5x3x2xf32>
      func.return %0, %1 : tensor<2x2x3x2x4xf32>, tensor<2x5x3x2xf32>
    }""")
    packed, unpacked = run(module, [x])
    np.testing.assert_array_equal(packed[1, 1, 2, 0, 0], x[1, 4, 2, 0])
    assert np.isnan(packed[:, 1, ..., 1:]).all()
    np.testing.assert_array_equal(unpacked, x)


CONVOLUTIONS = """
func.func @main(%x: tensor<1x5x6x6xf32>, %w: tensor<7x5x3x3xf32>,
    %b: tensor<7xf32>, %packed: tensor<{size}xf32>, %blocked: tensor<2x4xf32>)
    -> (tensor<1x7x3x3xf32>, tensor<1x7x3x3xf32>) {{
  %0 = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] : tensor<1x7x3x3xf32>
  %1 = glow.relu %0 : tensor<1x7x3x3xf32>
  %2 = glow.add %1, %0 : tensor<1x7x3x3xf32>
  %3 = cpu.pack %x lanes 4 : tensor<1x2x6x6x4xf32>
  %4 = cpu.conv2d %3, %packed, %blocked strides [2, 2] pads [1, 1, 1, 1]
      kernel [3, 3] input_channels 5 output_channels 7 : tensor<1x2x3x3x4xf32>
  %5 = cpu.conv2d %3, %packed, %blocked, %4 strides [2, 2] pads [1, 1, 1, 1]
      kernel [3, 3] input_channels 5 output_channels 7 {{
  ^bb0(%sum: f32, %other: f32):
    %zero = arith.constant 0.0 : f32
    %relu = arith.maximumf %sum, %zero : f32
    %r = arith.addf %relu, %other : f32
    glow.yield %r
  }} : tensor<1x2x3x3x4xf32>
  %6 = cpu.unpack %5 channels 7 : tensor<1x7x3x3xf32>
  func.return %2, %6 : tensor<1x7x3x3xf32>, tensor<1x7x3x3xf32>
}}
"""


def blocked_packing(
    attributes: Attributes, image: tuple[int, ...], weights: Array
) -> Array:
    """[O, I, kh, kw] as [O / 4, I / 4, kh, kw, 4 inputs, 4 outputs], zero-padded."""
    outputs, inputs, *kernel = weights.shape
    padded = np.zeros((8, 8, *kernel), weights.dtype)
    padded[:outputs, :inputs] = weights
    return padded.reshape(2, 4, 2, 4, *kernel).transpose(0, 2, 4, 5, 3, 1).ravel()


def plain_packing(
    attributes: Attributes, image: tuple[int, ...], weights: Array
) -> Array:
    return weights.ravel()


@pytest.mark.parametrize("packing", [blocked_packing, plain_packing])
def test_blocked_convolution(packing: Packing) -> None:
    x, weights = random_array((1, 5, 6, 6)), random_array((7, 5, 3, 3), seed=1)
    bias = random_array((7,), seed=2)
    packed = packing(Attributes(cpu.Conv2dOp.get_irdl_definition(), {}), (), weights)
    module = parse(CONVOLUTIONS.format(size=packed.size))
    blocked = np.concatenate([bias, [np.nan]]).astype(np.float32).reshape(2, 4)
    inputs = [x, weights, bias, packed, blocked]
    expected, actual = run(module, inputs, packing={cpu.Conv2dOp: packing})
    assert_close(actual, expected, 1e-6)


def test_unknown_packing_is_one_line() -> None:
    module = parse(CONVOLUTIONS.format(size=8 * 8 * 9))
    inputs = [
        random_array(shape)
        for shape in ((1, 5, 6, 6), (7, 5, 3, 3), (7,), (8 * 8 * 9,), (2, 4))
    ]
    with pytest.raises(GlowError, match="needs the backend's packing"):
        run(module, inputs)


def test_depthwise_convolution() -> None:
    x, bias = random_array((1, 8, 5, 5)), random_array((8,), seed=2)
    weights = random_array((8, 1, 3, 3), seed=1)
    module = parse("""
    func.func @main(%x: tensor<1x8x5x5xf32>, %w: tensor<8x1x3x3xf32>,
        %b: tensor<8xf32>, %packed: tensor<2x3x3x4xf32>, %blocked: tensor<2x4xf32>)
        -> (tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>) {
      %0 = glow.conv2d %x, %w, %b group 8 : tensor<1x8x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x5x5x4xf32>
      %2 = cpu.depthwise_conv2d %1, %packed, %blocked kernel [3, 3]
          : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 8 : tensor<1x8x3x3xf32>
      func.return %0, %3 : tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>
    }""")
    packed = weights.reshape(2, 4, 3, 3).transpose(0, 2, 3, 1).copy()
    expected, actual = run(module, [x, weights, bias, packed, bias.reshape(2, 4)])
    assert_close(actual, expected, 1e-6)


def test_matmul_with_epilogue() -> None:
    x, weights = random_array((2, 3, 5)), random_array((5, 4), seed=1)
    bias, scale = random_array((4,), seed=2), random_array((4,), seed=3)
    module = parse("""
    func.func @main(%x: tensor<2x3x5xf32>, %w: tensor<20xf32>, %b: tensor<4xf32>,
        %s: tensor<4xf32>) -> tensor<2x3x4xf32> {
      %0 = cpu.matmul %x, %w, %b, %s {
      ^bb0(%sum: f32, %factor: f32):
        %r = arith.mulf %sum, %factor : f32
        glow.yield %r
      } : tensor<2x3x4xf32>
      func.return %0 : tensor<2x3x4xf32>
    }""")
    (actual,) = run(module, [x, weights.ravel(), bias, scale])
    assert_close(actual, (x @ weights + bias) * scale, 1e-6)


def test_local_response_norm_on_blocks() -> None:
    module = parse("""
    func.func @main(%x: tensor<1x6x3x3xf32>)
        -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>) {
      %0 = glow.local_response_norm %x size 3 alpha 0.5 : tensor<1x6x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x3x3x4xf32>
      %2 = cpu.local_response_norm %1 channels 6 size 3 alpha 0.5
          : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 6 : tensor<1x6x3x3xf32>
      func.return %0, %3 : tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>
    }""")
    expected, actual = run(module, [random_array((1, 6, 3, 3))])
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("kind", ["max_pool2d", "avg_pool2d"])
def test_pools_keep_lanes(kind: str) -> None:
    window = "kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]"
    module = parse(f"""
    func.func @main(%x: tensor<1x6x5x5xf32>)
        -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>) {{
      %0 = glow.{kind} %x {window} : tensor<1x6x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x5x5x4xf32>
      %2 = glow.{kind} %1 {window} : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 6 : tensor<1x6x3x3xf32>
      func.return %0, %3 : tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>
    }}""")
    expected, actual = run(module, [random_array((1, 6, 5, 5))])
    np.testing.assert_array_equal(actual, expected)
