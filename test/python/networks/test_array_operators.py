"""Operators as functions of arrays, beside what the importer computes of constants."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from folded_nodes import array_results, check_folded_node, examples
from onnx import helper, numpy_helper, parser
from support.onnx_models.found_rows import FOUND

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.programs.array_operators import MAKERS, array_operator
from glow.interpreter import run

NAN, INF = np.nan, np.inf

NUMBERS = {
    "float32": [0.0, -0.0, 1.5, -1.5, 1e-42, 3e38, -3e38, INF, -INF, NAN, 2.5, 0.1],
    "float64": [0.0, -0.0, 1.5, -1.5, 5e-324, 1e308, -1e308, INF, -INF, NAN, 2.5, 0.1],
    "int64": [0, 1, -1, 2**63 - 1, -(2**63), 7, 3, -5, 2**31, 4, 100, -100],
    "int32": [0, 1, -1, 2**31 - 1, -(2**31), 7, 3, -5, 2**30, 4, 100, -100],
    "int8": [0, 1, -1, 127, -128, 7, 3, -5, 64, 4, 100, -100],
    "uint8": [0, 1, 255, 127, 128, 7, 3, 5, 64, 4, 100, 200],
    "bool": [True, False, True, True, False, False] * 2,
    "float16": [0.0, -0.0, 1.5, -1.5, 6e-8, 65504, -65504, INF, -INF, NAN, 2.5, 0.1],
}

PAIRS = """
    Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or Sub
""".split()

ALONE = ["Ceil", "Floor", "Identity", "NonZero", "Not", "Shape", "Sqrt", "Transpose"]

REDUCTIONS = ["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"]

I64 = np.int64
OPSET = 18


def numbers(name, shape):
    values = np.array(NUMBERS[name], name)
    return np.resize(values, shape) if np.prod(shape) else np.zeros(shape, name)


def node_of(operator, inputs, **attributes):
    names = [f"x{number}" if x is not None else "" for number, x in enumerate(inputs)]
    outputs = ["y", "z"] if operator == "TopK" else ["y"]
    return helper.make_node(operator, names, outputs, **attributes)


def as_function(operator, inputs, **attributes):
    """The results of the function; None where the node is left to the importer."""
    node = node_of(operator, inputs, **attributes)
    scope = {f"x{n}": Constant(x, "x") for n, x in enumerate(inputs) if x is not None}
    function = array_operator(node, OPSET)
    with np.errstate(all="ignore"):
        if function is None or not function.run(scope):
            return None
    return [scope[name].array for name in node.output]


def imported(operator, inputs, **attributes):
    """The results that the importer computes."""
    node = node_of(operator, inputs, **attributes)
    constants = [
        numpy_helper.from_array(x, f"x{number}")
        for number, x in enumerate(inputs)
        if x is not None
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "node", [], outputs, constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return run(import_model(model), [])


def check(operator, *inputs, **attributes):
    """Compare bits, NaN aside; the results, or None where the importer is asked."""
    found = as_function(operator, inputs, **attributes)
    if found is None:
        return None
    for one, other in zip(found, imported(operator, inputs, **attributes), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
        if one.dtype.kind == "f":
            isnan = np.isnan(one)
            assert (np.signbit(one) == np.signbit(other))[~isnan].all()
    return found


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("operator", PAIRS)
def test_pairs_of_numbers(operator: str, dtype: str) -> None:
    x = numbers(dtype, 12)
    is_plain = as_function(operator, [x[:, None], x]) is not None
    assert not is_plain or dtype != "float16"
    for one, other in ((x[:, None], x), (x[:0], x[:1]), (x[0], x[5]), (x[3], x)):
        found = check(operator, np.array(one), np.array(other))
        assert (found is not None) == is_plain


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("operator", ALONE)
def test_one_array(operator: str, dtype: str) -> None:
    for shape in ((3, 4), (12,), (0, 4), (1, 1, 2)):
        check(operator, numbers(dtype, shape))
    check(operator, np.array(numbers(dtype, 1)[0]))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions(operator: str, dtype: str) -> None:
    x = numbers(dtype, (3, 4))
    given = {} if operator == "ReduceSum" else {"axes": [1]}
    operands = [x, np.array([-1])] if operator == "ReduceSum" else [x]
    for keepdims in (0, 1):
        found = check(operator, *operands, keepdims=keepdims, **given)
        assert (found is not None) == (x.dtype.kind in "iu")
    check(operator, x)
    assert check(operator, numbers(dtype, (0, 4))) is None


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_casts(source: str, target: str) -> None:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    found = check("Cast", numbers(source, 12), to=to)
    assert (found is not None) == ("float16" not in (source, target))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_movement(dtype: str) -> None:
    x = numbers(dtype, (2, 3, 4))
    for axis in (0, 1, -1):
        assert check("Concat", x, x, axis=axis)
        assert check("Gather", x, np.array([[1, -1], [0, -2]]), axis=axis)
        assert check("Gather", x, np.array(1), axis=axis)
        assert check("Squeeze", x[:1, :, :1], np.array([0])) is not None
        assert check("Unsqueeze", x, np.array([axis, 1 if axis != 1 else 2]))
        indices = np.zeros((2, 3, 4), I64)
        indices[0] = -1
        assert check("GatherElements", x, indices, axis=axis)
    assert check("Concat", x, axis=1)
    assert check("GatherND", x, np.array([[1], [-1]]))
    assert check("GatherND", x, np.array([[1, 0], [-1, 2]]))
    assert check("GatherND", x, np.array([0, 2, 3]))
    assert check("GatherND", x, np.zeros((0, 2), I64))
    assert check("Transpose", x, perm=[2, 0, 1])
    assert check("Squeeze", x[:1, :, :1])
    assert check("Where", x > x[0], x, x[::-1])
    assert check("Expand", x[:, :1], np.array([2, 1, 5, 1]))
    assert check("Shape", x, start=-2, end=5)
    assert check("Shape", x, start=2, end=1)


@pytest.mark.parametrize(
    "sizes", [[6, 4], [-1], [0, -1], [0, 0, 4], [4, -1, 1], [24, 1, 1]]
)
def test_reshapes(sizes: list[int]) -> None:
    assert check("Reshape", numbers("float32", (2, 3, 4)), np.array(sizes))


def test_reshapes_of_nothing() -> None:
    x = numbers("float32", (0, 3, 4))
    assert check("Reshape", x, np.array([0, 12]))
    assert check("Reshape", x, np.array([5, 0]), allowzero=1)
    assert check("Reshape", x, np.array([0, -1])) is None


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([0], [2], None, None),
        ([1, -3], [2**63 - 1, -1], [0, 2], None),
        ([-9, 1], [9, 0], [1, -1], [1, 2]),
        ([-(2**63)], [2**31], [1], [3]),
    ],
)
def test_slices(
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
) -> None:
    x = numbers("int64", (3, 4, 5))
    rest = [None if one is None else np.array(one) for one in (axes, steps)]
    assert check("Slice", x, np.array(starts), np.array(ends), *rest)


def test_slices_backwards_are_left_to_the_importer() -> None:
    x = numbers("int64", (4,))
    operands = [np.array([one]) for one in (-1, -(2**63), 0, -1)]
    assert check("Slice", x, *operands) is None


@pytest.mark.parametrize("dtype", [name for name in NUMBERS if name != "bool"])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k(dtype: str, largest: int) -> None:
    x = numbers(dtype, (2, 24))
    for k in (0, 1, 5, 24):
        found = check("TopK", x, np.array([k]), largest=largest)
        assert (found is not None) == (dtype != "float16")
    assert check("TopK", x, np.array([1]), axis=0) is None


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("Gather", [np.zeros(3), np.array([3])], {}),
        ("Gather", [np.zeros(3), np.array([-4])], {}),
        ("Gather", [np.zeros((0, 2)), np.array([0])], {}),
        ("GatherND", [np.zeros((2, 2)), np.array([[0, 2]])], {}),
        ("GatherElements", [np.zeros((2, 2)), np.array([[0, 2]])], {"axis": 1}),
        ("Add", [np.zeros(3), np.zeros(2)], {}),
        ("Add", [np.zeros(3), np.zeros(3, np.float32)], {}),
        ("Concat", [np.zeros(3), np.zeros(3, np.float32)], {"axis": 0}),
        ("Concat", [np.zeros((2, 2)), np.zeros((2, 3))], {"axis": 0}),
        ("Expand", [np.zeros(3), np.array([2])], {}),
        ("Reshape", [np.zeros(3), np.array([-1, -1])], {}),
        ("Reshape", [np.zeros(3), np.array([2])], {}),
        ("Reshape", [np.zeros(6), np.array([-2, 3])], {}),
        ("Squeeze", [np.zeros(3), np.array([0])], {}),
        ("Unsqueeze", [np.zeros(3), np.array([0, 0])], {}),
        ("ConstantOfShape", [np.array([-1])], {}),
        ("Slice", [np.zeros(3), np.array([0]), np.array([1]), np.array([1])], {}),
        ("Slice", [np.array(1.0), np.array([0]), np.array([1])], {}),
        ("Transpose", [np.zeros((2, 3))], {"perm": [0, 0]}),
        ("Transpose", [np.zeros((2, 3))], {"perm": [-1, 0]}),
        ("TopK", [np.zeros(3), np.array([4])], {}),
    ],
)
def test_what_is_wrong_is_left_to_the_importer(operator, inputs, attributes) -> None:
    assert as_function(operator, inputs, **attributes) is None
    with pytest.raises(GlowError):
        imported(operator, inputs, **attributes)


def test_malformed_attributes_are_left_to_the_importer() -> None:
    node = helper.make_node("Gather", ["x", "i"], ["y"], axis=1.5)
    assert array_operator(node, OPSET) is None


def test_all_functions_have_examples() -> None:
    numbers = [n for n, one in enumerate(examples()) if one.node.op_type in MAKERS]
    found = {
        examples()[n].node.op_type for n in numbers if array_results(examples()[n])
    }
    assert found >= set(MAKERS) - set(REDUCTIONS)
    assert all(check_folded_node(number) >= 0 for number in numbers[::4])


def test_a_refused_value_is_told() -> None:
    """What a later call refuses is an error of that call, not an empty result."""
    body = """
        sizes = Shape(rows)
        parts = Cast<to = 1>(sizes)
        factors = Constant<value = float[2] {0.05, 0.25}>()
        scales = Mul(parts, factors)
        y = Upsample(rows, scales)
    """
    found = FOUND.replace("value_float = 0.0", "value = float {0.0}")
    found = found.replace("value_ints = [-1]", "value = int64[1] {-1}")
    found = found.replace("value_int = 0", "value = int64 {0}")
    head = '<ir_version: 9, opset_import: ["" : 9]>'
    model = parser.parse_model(
        f"{head} test (float[40, 4] x) => (float[K, L] y) {{ {found} {body} }}"
    )
    compiled = glow.compile(model)
    x = np.ones((40, 4), np.float32)
    for count in (30, 35, 22, 21):
        x[:, 0] = np.where(np.arange(40) < count, 1, -1)
        assert compiled(x).shape == (count * count // 20, 4)
    x[:, 0] = np.where(np.arange(40) < 10, 1, -1)
    with pytest.raises(GlowError, match="'Upsample'"):
        compiled(x)
