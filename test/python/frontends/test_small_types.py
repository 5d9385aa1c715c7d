"""Types of storage: conversions bit by bit, moves, text, weight files, and what is refused."""

from contextlib import ExitStack
from io import StringIO

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import lower_to
from glow.dialects.errors import GlowError
from glow.dialects.glow import ConstantOp
from glow.dialects.printer import TextPrinter, mlir_text
from glow.dialects.small_types import SMALL_TYPES
from glow.dialects.weights import held_value, numpy_to_dense
from glow.frontends.mlir import parse_text
from glow.frontends.onnx import import_model
from glow.tools.glow import run_glow
from glow.tools.program_output import write_program
from glow.universe import new_context

BACKENDS = ("interpreter", "cpu")
KINDS = {
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
    "float4_e2m1fn": TensorProto.FLOAT4E2M1,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
}
BITS = {name: 8 if "8" in name else 2 if "2" in name[-4:] else 4 for name in KINDS}
BITS["float4_e2m1fn"] = 4
SCALES = "float8_e8m0fnu"


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name))


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def random_codes(name, shape, seed=0):
    """Any bits that elements of the type may have."""
    codes = np.random.default_rng(seed).integers(0, 2 ** BITS[name], shape, np.uint8)
    return codes.view(dtype(name))


def edges():
    """float32: any bits, neighbours of midpoints, and what is special."""
    rng = np.random.default_rng(1)
    any_bits = rng.integers(0, 2**32, 800, np.uint32).view(np.float32)
    powers = np.ldexp(
        rng.choice([1, 1.0625, 1.125, 1.25, 1.5], 800), rng.integers(-150, 128, 800)
    )
    special = [0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 448, 464, 465, 57344, 61440]
    small = np.arange(-300, 300) / 16
    return np.concatenate(
        [any_bits, *(np.float32(a) for a in (powers, special, small))]
    )


def casts(source, kind, shape, attributes):
    """A model with one Cast for each of the targets, from one input."""
    nodes, outputs = [], []
    for number, (target, given) in enumerate(attributes):
        nodes.append(
            helper.make_node("Cast", ["x"], [f"y{number}"], to=target, **given)
        )
        outputs.append(helper.make_tensor_value_info(f"y{number}", target, shape))
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    graph = helper.make_graph(nodes, source, inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


def results(model, *arrays):
    """What the interpreter computes, once the CPU has the same bits."""
    reference, computed = (glow.compile(model, backend=b)(*arrays) for b in BACKENDS)
    for expected, actual in zip(reference, computed, strict=True):
        assert expected.dtype == actual.dtype
        np.testing.assert_array_equal(bits(expected), bits(actual))
    return reference


def test_every_code_widens_to_its_number():
    wide = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.BOOL]
    for name, kind in KINDS.items():
        codes = np.arange(2 ** BITS[name], dtype=np.uint8).view(dtype(name))
        model = casts(name, kind, codes.shape, [(target, {}) for target in wide])
        floats, doubles, integers, booleans = results(model, codes)
        expected = codes.astype(np.float32)
        np.testing.assert_array_equal(floats, expected)
        np.testing.assert_array_equal(np.signbit(floats), np.signbit(expected))
        np.testing.assert_array_equal(doubles, expected)
        np.testing.assert_array_equal(booleans, expected != 0)
        whole = np.abs(expected) < 2**31
        np.testing.assert_array_equal(integers[whole], np.trunc(expected[whole]))


def test_kernels_of_two_types_are_not_one():
    x = np.array([-2, -1, 0, 1], np.int8)
    for name in ("int4", "int2"):
        model = casts(name, KINDS[name], x.shape, [(TensorProto.INT8, {})] * 2)
        for result in results(model, x.astype(dtype(name))):
            np.testing.assert_array_equal(result, x)


def test_floats_round_as_the_tables_say():
    x = edges()
    targets = [
        (name, kind, saturate)
        for name, kind in KINDS.items()
        for saturate in (0, 1)
        if name != SCALES and "int" not in name
    ]
    model = casts(
        "floats",
        TensorProto.FLOAT,
        x.shape,
        [(kind, {"saturate": saturate}) for _, kind, saturate in targets],
    )
    for result, (name, _, saturate) in zip(results(model, x), targets, strict=True):
        limits = ml_dtypes.finfo(dtype(name))
        bounded = np.clip(x, float(limits.min), float(limits.max)) if saturate else x
        with np.errstate(all="ignore"):
            expected = bounded.astype(dtype(name))
        np.testing.assert_array_equal(
            bits(result), bits(expected), f"{name} {saturate}"
        )


def test_integers_keep_their_low_bits():
    x = np.arange(-300, 300, dtype=np.int32)
    names = [name for name in KINDS if "int" in name]
    model = casts(
        "integers", TensorProto.INT32, x.shape, [(KINDS[name], {}) for name in names]
    )
    for result, name in zip(results(model, x), names, strict=True):
        np.testing.assert_array_equal(bits(result), x & (2 ** BITS[name] - 1), name)


def test_powers_of_two_round_in_three_ways():
    exact = 2.0 ** np.arange(-127, 128)
    x = np.array(
        [0, 1e-45, -1, np.inf, np.nan, *exact, 1.4, 1.5, 1.6, 3e38], np.float32
    )
    forms = [
        {"saturate": saturate, "round_mode": mode}
        for saturate in (0, 1)
        for mode in ("down", "nearest", "up")
    ]
    kind = KINDS[SCALES]
    model = casts("scales", TensorProto.FLOAT, x.shape, [(kind, f) for f in forms])
    last, nan = 254, 255
    for result, form in zip(results(model, x), forms, strict=True):
        saturate, mode = form["saturate"], form["round_mode"]
        special = [0, 0, 0, last, nan] if saturate else [nan] * 5
        steps = {"down": (0, 0, 0), "nearest": (0, 1, 1), "up": (1, 1, 1)}[mode]
        # 3e38 is 1.76 * 2^127, beyond the last power of two if it rounds up.
        end = last if saturate or mode == "down" else nan
        expected = [*special, *range(255), *(127 + step for step in steps), end]
        np.testing.assert_array_equal(bits(result), expected, str(form))


def moves(name):
    """Constants, inputs and outputs, and the nodes that move elements."""
    kind, d = KINDS[name], dtype(name)
    small, large = random_codes(name, (5, 3), 1), random_codes(name, (40, 5), 2)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Concat", ["t", "small"], ["c"], axis=0),
        helper.make_node("Reshape", ["c", "shape"], ["y0"]),
        helper.make_node("Gather", ["large", "i"], ["y1"], axis=0),
        helper.make_node("Slice", ["large", "from", "to"], ["y2"]),
        helper.make_node("Identity", ["x"], ["y3"]),
        helper.make_node("Expand", ["x", "wide"], ["y4"]),
        helper.make_node("Where", ["chosen", "x", "x"], ["y5"]),
        helper.make_node("Pad", ["x", "pads", "one"], ["y6"]),
    ]
    integers = {
        "shape": [39],
        "from": [30],
        "to": [37],
        "wide": [2, 3, 8],
        "pads": [0, 1, 0, 0],
    }
    weights = {"small": small, "large": large, "one": np.array(1).astype(d)}
    tensors = {n: np.array(a, np.int64) for n, a in integers.items()} | weights
    initializers = [numpy_helper.from_array(a, n) for n, a in tensors.items()]
    shapes = [[39], [2, 5], [7, 5], [3, 8], [2, 3, 8], [3, 8], [3, 9]]
    info = helper.make_tensor_value_info
    inputs = [
        info("x", kind, [3, 8]),
        info("i", TensorProto.INT64, [2]),
        info("chosen", TensorProto.BOOL, [3, 8]),
    ]
    outputs = [info(f"y{n}", kind, shape) for n, shape in enumerate(shapes)]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    x, i = random_codes(name, (3, 8)), np.array([3, -2])
    chosen = np.arange(24).reshape(3, 8) % 3 == 0
    expected = [
        np.concatenate([x.T, small]).reshape(39), large[i], large[30:37], x,
        np.broadcast_to(x, (2, 3, 8)), x,
        np.concatenate([np.full((3, 1), weights["one"]), x], 1),
    ]  # fmt: skip
    return model, (x, i, chosen), expected


@pytest.mark.parametrize("name", KINDS)
def test_elements_move_unchanged(name):
    model, arrays, expected = moves(name)
    for result, wanted in zip(results(model, *arrays), expected, strict=True):
        np.testing.assert_array_equal(bits(result), bits(wanted))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn", "int4"])
def test_every_level_is_text_with_its_weights(name, tmp_path):
    model, arrays, expected = moves(name)
    for level in ("graph", "lowered", "instr"):
        path = tmp_path / f"{level}.mlir"
        with ExitStack() as files, path.open("w") as stream:
            module = lower_to(import_model(model), level)
            write_program(module, mlir_text, path, stream, files)
        for result, wanted in zip(glow.compile(path)(*arrays), expected, strict=True):
            np.testing.assert_array_equal(bits(result), bits(wanted))
    loops = mlir_text(lower_to(import_model(model), "loops"))
    assert f"x{SMALL_TYPES[name]}>" not in loops  # What upstream reads has bytes.


@pytest.mark.parametrize("name", KINDS)
def test_dense_constants_print_and_parse_bit_by_bit(name):
    codes = np.arange(2 ** BITS[name], dtype=np.uint8).view(dtype(name))
    for array in (codes, codes[:3], codes[-4:], np.repeat(codes[-1:], 3)):
        line = StringIO()
        TextPrinter(line).print_attribute(numpy_to_dense(array))
        text = f"""func.func @main() -> {line.getvalue().split(" : ")[1]} {{
          %0 = glow.constant {line.getvalue()}
          func.return %0 : {line.getvalue().split(" : ")[1]}
        }}"""
        module = parse_text(new_context(), text, name)
        (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
        np.testing.assert_array_equal(bits(held_value(constant)), bits(array), text)


@pytest.mark.parametrize(
    "operator", ["Relu(x)", "Neg(x)", "ReduceMax<keepdims = 0>(x)", "Softmax(x)"]
)
def test_arithmetic_is_refused_in_one_line(operator):
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 25]>
        network (float8e4m3fn[2, 3] x) => (float8e4m3fn[2, 3] y) {{ y = {operator} }}"""
    )
    with pytest.raises(GlowError, match="only stored; convert them before") as raised:
        glow.compile(model)
    assert len(str(raised.value).splitlines()) == 1


def test_the_tools_read_and_write_their_arrays(tmp_path):
    model = casts("file", KINDS["float8_e5m2"], (8,), [(KINDS["float8_e5m2"], {})])
    onnx.save(model, tmp_path / "model.onnx")
    x = random_codes("float8_e5m2", (8,))
    np.save(tmp_path / "x.npy", x.view("V1"))
    files = [f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out")]
    run_glow(["run", str(tmp_path / "model.onnx"), "--input", *files])
    (result,) = (np.load(file) for file in (tmp_path / "out").iterdir())
    np.testing.assert_array_equal(bits(result), bits(x))
