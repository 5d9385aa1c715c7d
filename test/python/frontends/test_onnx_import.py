"""The ONNX importer: structure of the module, differences between opsets."""

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from support.onnx_models.onnx_testing import (
    FLOAT,
    check,
    check_with_runtime,
    error_of,
    main_of,
    make_model,
    names_of,
    node,
    nodes_of,
    random,
)

from glow.compiler import run_passes
from glow.dialects.glow import SplatOp
from glow.dialects.node import node_name
from glow.dialects.weights import weights_of
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.passes.graph.pipeline import graph_passes

# Structure


def test_names_and_locations():
    model = make_model(
        [
            node("Conv", "in/put w", "conv/out", kernel_shape=[3, 3], name="first"),
            node("Relu", "conv/out"),
        ],
        [("in/put", [1, 2, 5, 5])],
        weights={"w/0": random(9, 2, 3, 3)} | {"w": random(9, 2, 3, 3)},
    )
    module = import_model(model)
    function = main_of(module)
    assert function.attributes["glow.input_names"].data[0].data == "in/put"
    assert function.attributes["glow.output_names"].data[0].data == "y"
    assert function.args[0].name_hint == "in_put"
    conv, relu = nodes_of(module)
    assert (node_name(conv), node_name(relu)) == ("first", "y")
    assert conv.results[0].name_hint == "conv_out"


def test_weights_are_views_under_unique_names():
    weights = {"a/w": random(32, 16), "a.w": random(16, 32), "a_w": random(32, 16)}
    model = make_model(
        [
            node("MatMul", "x a/w", "t"),
            node("MatMul", "t a.w", "u"),
            node("MatMul", "u a_w", "y"),
        ],
        [("x", [2, 32])],
        weights=weights,
    )
    module = check(model, random(2, 32))
    table = weights_of(module)
    assert set(table) == {"a_w", "a.w", "a_w_1"}
    assert all(not array.flags.owndata for array in table.values())


def test_unused_weights_are_left_out():
    model = make_model([node("Relu", "x")], [("x", [2])], weights={"w": random(64, 64)})
    assert not weights_of(import_model(model))


def test_initializers_may_be_inputs_too():
    model = make_model(
        [node("Add", "x b")], [("x", [2]), ("b", [2])], weights={"b": random(2)}
    )
    assert len(main_of(import_model(model)).args) == 1


def test_outputs_may_be_inputs_and_constants():
    model = make_model(
        [node("Identity", "x", "y"), node("Identity", "c", "z")],
        [("x", [2])],
        ["y", "z"],
        weights={"c": random(2)},
    )
    assert names_of(check(model, random(2))) == []


def test_shape_computations_leave_no_trace():
    model = make_model(
        [
            node("Shape", "x", "shape"),
            node("Gather", "shape zero", "batch"),
            node("Unsqueeze", "batch axes", "batch1"),
            node("Concat", "batch1 rest", "target", axis=0),
            node("Reshape", "x target", "y"),
        ],
        [("x", [2, 3, 4])],
        weights={
            "zero": np.array(0),
            "axes": np.array([0]),
            "rest": np.array([-1]),
        },
    )
    assert names_of(check(model, random(2, 3, 4))) == ["reshape"]


def test_branch_of_a_known_condition_is_taken():
    def branch(op_type):
        output = helper.make_tensor_value_info("r", FLOAT, None)
        return helper.make_graph([node(op_type, "x", "r")], op_type, [], [output])

    model = make_model(
        [node("If", "c", then_branch=branch("Relu"), else_branch=branch("Neg"))],
        [("x", [2])],
        weights={"c": np.array(False)},
    )
    assert names_of(check(model, random(2))) == ["neg"]


def test_functions_of_the_model_are_imported():
    function = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [node("Add", "a a", "t"), node("Elu", "t", "b", alpha=0.0)],
        [helper.make_opsetid("", 17)],
        [],
    )
    model = make_model(
        [
            node("Twice", "x", "t", domain="mine"),
            node("Twice", "t", "y", domain="mine"),
        ],
        [("x", [2])],
        functions=[function],
        mine=1,
    )
    module = check(model, random(2))
    assert names_of(module) == ["add", "elu", "add", "elu"]
    assert [node_name(op) for op in nodes_of(module)] == ["t", "t", "y", "y"]


def test_operators_that_onnx_defines_by_others():
    model = make_model([node("Celu", "x", alpha=2.0)], [("x", [8])])
    module = check(model, random(8))
    assert {node_name(op) for op in nodes_of(module)} == {"y"}


def test_constants_of_one_number_take_no_memory():
    shape = np.array([2**18, 2**18])
    nodes = [node("ConstantOfShape", "s", "c"), node("Transpose", "c")]
    module = import_model(make_model(nodes, [], weights={"s": shape}))
    (splat,) = (op for op in module.walk() if isinstance(op, SplatOp))
    assert splat.result.type.get_shape() == (2**18, 2**18)


@pytest.mark.parametrize("name", ["7", "_12", "x/3", "é"])
def test_any_name_of_a_value(name):
    node = helper.make_node("Gemm", ["x", "w"], [name])
    weights = numpy_helper.from_array(random(3, 2), "w")
    graph = helper.make_graph(
        [node],
        "names",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3))],
        [helper.make_empty_tensor_value_info(name)],
        [weights],
    )
    module = import_model(helper.make_model(graph))
    run_passes(module, graph_passes())


# Differences between opsets


SOFTMAX_AXES = [{}, *({"axis": axis} for axis in (-3, -2, -1, 0, 1, 2))]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("attributes", SOFTMAX_AXES, ids=str)
def test_softmax_along_any_axis(operator, opset, attributes):
    proto = node(operator, "x", **attributes)
    model = make_model([proto], [("x", [2, 3, 4])], opset=opset)
    check_with_runtime(model, random(2, 3, 4))


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ((2, 3), 1, ["softmax"]),
        ((1, 5, 1, 1), 1, ["softmax"]),
        ((2, 3, 4), 1, ["reshape", "softmax", "reshape"]),
    ],
)
def test_softmax_flattens_before_opset_13(shape, axis, expected):
    model = make_model([node("Softmax", "x", axis=axis)], [("x", shape)], opset=9)
    x = random(*shape)
    module = import_model(model)
    flat = x.reshape(int(np.prod(shape[:axis])), -1)
    exponentials = np.exp(flat - flat.max(1, keepdims=True))
    wanted = (exponentials / exponentials.sum(1, keepdims=True)).reshape(shape)
    np.testing.assert_allclose(run(module, [x])[0], wanted, rtol=1e-5)
    assert names_of(module) == expected


OPSET_CASES = [
    (9, node("Unsqueeze", "x", axes=[1, 2]), {}),
    (17, node("Unsqueeze", "x i"), {"i": [1, 2]}),
    (9, node("Squeeze", "x", axes=[0]), {}),
    (17, node("Squeeze", "x i"), {"i": [0]}),
    (9, node("ReduceSum", "x", axes=[-1], keepdims=0), {}),
    (17, node("ReduceSum", "x i", keepdims=0), {"i": [-1]}),
    (17, node("ReduceMean", "x", axes=[1]), {}),
    (18, node("ReduceMean", "x i"), {"i": [1]}),
    (17, node("ReduceL2", "x", axes=[1, 2]), {}),
    (17, node("ReduceLogSumExp", "x", axes=[2], keepdims=0), {}),
    (9, node("Slice", "x", axes=[2], starts=[-3], ends=[99]), {}),
    (17, node("Slice", "x s e a t"), {"s": [-1], "e": [-99], "a": [2], "t": [-2]}),
    (9, node("Pad", "x", pads=[0, 1, 0, 0, 0, 2], value=3.0), {}),
    (17, node("Pad", "x p", mode="reflect"), {"p": [0, 1, 0, 0, 0, 2]}),
    (9, node("Clip", "x", min=-0.5, max=0.5), {}),
    (11, node("Split", "x", "y z", axis=2, split=[1, 3]), {}),
    (17, node("Split", "x s", "y z", axis=2), {"s": [1, 3]}),
    (18, node("Split", "x", "y z", axis=1, num_outputs=2), {}),
    (9, node("Dropout", "x", "y m", ratio=0.4), {}),
    (17, node("Dropout", "x"), {}),
    (17, node("Gather", "x i", axis=1), {"i": [[0, -1], [1, 2]]}),
    (17, node("Flatten", "x", axis=-1), {}),
    (17, node("Transpose", "x"), {}),
    (17, node("Expand", "x i"), {"i": [2, 1, 3, 1]}),
    (17, node("Tile", "x i"), {"i": [2, 1, 3]}),
    (13, node("Hardmax", "x", axis=1), {}),
    (18, node("Mish", "x"), {}),
    (17, node("GlobalAveragePool", "x"), {}),
    (17, node("MaxPool", "x", kernel_shape=[2], pads=[1, 0], strides=[2]), {}),
    (17, node("AveragePool", "x", kernel_shape=[3], pads=[1, 1]), {}),
]


@pytest.mark.parametrize(
    ("opset", "proto", "integers"),
    OPSET_CASES,
    ids=lambda value: getattr(value, "op_type", None),
)
def test_operator_agrees_with_the_reference(opset, proto, integers):
    weights = {name: np.array(value) for name, value in integers.items()}
    outputs = [name for name in proto.output if name != "m"]
    model = make_model([proto], [("x", [1, 3, 4])], outputs, weights, opset)
    check(model, random(1, 3, 4))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_padding_value_keeps_all_its_bits(dtype):
    number = np.array(0.1 if dtype == np.float64 else 2**24 + 1, dtype)
    if dtype == np.int64:
        number = np.array(2**53 + 1)
    x = np.arange(6).astype(dtype).reshape(2, 3)
    pads = np.array([1, -1, 0, 2])
    nodes = [
        node("Pad", "x p v", "t"),
        node("Cast", "t", to=1),
        node("Sub", "t v", "z"),
    ]
    model = make_model(nodes, [], ["y", "t", "z"], {"p": pads, "v": number})
    data_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model.graph.input.append(helper.make_tensor_value_info("x", data_type, [2, 3]))
    for output in model.graph.output[1:]:
        output.type.tensor_type.elem_type = data_type
    _, padded, _ = check_with_runtime(model, x)
    assert padded[0, 0] == number


def test_padding_value_computed_at_run_time():
    nodes = [node("ReduceMin", "x", "v", keepdims=0), node("Pad", "x p v")]
    model = make_model(nodes, [("x", [2, 3])], weights={"p": np.array([0, 2, 1, 0])})
    check_with_runtime(model, random(2, 3))


def test_uneven_split_before_opset_18():
    proto = node("Split", "x", "y z", axis=0)
    model = make_model([proto], [("x", [3])], ["y", "z"], opset=13)
    assert "3 elements do not split into 2 equal parts" in error_of(model)
    proto.attribute.add(name="num_outputs", type=AttributeProto.INT, i=2)
    model = make_model([proto], [("x", [3])], ["y", "z"], opset=18)
    check_with_runtime(model, random(3))


@pytest.mark.parametrize("shape", [(4,), (2, 4), (1, 3, 1), (2, 3, 4)])
def test_scale_of_layer_normalization_broadcasts(shape):
    model = make_model(
        [node("LayerNormalization", "x s b", axis=-1)],
        [("x", [2, 3, 4]), ("s", shape if shape[-1] == 4 else [4]), ("b", shape)],
    )  # fmt: skip
    if shape == (2, 4):
        assert "operands do not broadcast" in error_of(model)
        return
    scale = random(*shape) if shape[-1] == 4 else random(4)
    check_with_runtime(model, random(2, 3, 4), scale, random(*shape))


def test_mean_variance_normalization_of_large_means():
    model = make_model([node("MeanVarianceNormalization", "x")], [("x", [2, 3, 4, 4])])
    check_with_runtime(model, 1000 + random(2, 3, 4, 4), atol=1e-4)


HYPERBOLIC = {
    "Asinh": (-3e38, -1e20, -3, -1e-5, -1e-30, 0, 1e-5, 0.5, 1, 7, 1e20, 3e38, np.inf),
    "Acosh": (1, 1.0001, 1.5, 2, 1e5, 1e20, 3e38, np.inf, 0.5),
    "Atanh": (-1, -0.9999, -0.5, -1e-5, -1e-30, 0, 1e-30, 1e-5, 0.5, 0.9999, 1, 2),
    "Sinh": (-np.inf, -89, -20, -1, -1e-5, 0, 1e-30, 1e-5, 1, 20, 89, 90, np.inf),
    "Cosh": (-np.inf, -89, -20, -1, -1e-5, 0, 1e-30, 1e-5, 1, 20, 89, 90, np.inf),
}
"""Arguments near zero, and where intermediate values of the textbook's formulas overflow."""


@pytest.mark.parametrize("operator", HYPERBOLIC)
def test_hyperbolic_functions_over_their_whole_range(operator):
    x = np.array(HYPERBOLIC[operator], np.float32)
    model = make_model([node(operator, "x")], [("x", x.shape)])
    check_with_runtime(model, x, rtol=1e-5, atol=0)


def test_constant_truth_values_without_axes():
    model = make_model([node("Identity", "c")], [], weights={"c": np.array(True)})
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    check_with_runtime(model)


@pytest.mark.parametrize("shape", [(3, 1, 1, 1, 1), (1, 3, 1, 1, 1), (2, 1, 3, 1, 1)])
def test_five_axes_of_which_most_have_one_element(shape):
    model = make_model([node("Sqrt", "x")], [("x", shape)])
    check_with_runtime(model, abs(random(*shape)))


def test_convolution_over_one_axis():
    model = make_model(
        [node("Conv", "x w b", strides=[2], pads=[1, 0], dilations=[2], group=2)],
        [("x", [1, 4, 9])],
        weights={"w": random(6, 2, 3), "b": random(6)},
    )
    assert names_of(check(model, random(1, 4, 9))) == ["reshape", "conv2d", "reshape"]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding(auto_pad):
    model = make_model(
        [node("Conv", "x w", auto_pad=auto_pad, strides=[2, 1])],
        [("x", [1, 2, 6, 7])],
        weights={"w": random(3, 2, 4, 2)},
    )
    check(model, random(1, 2, 6, 7))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_with_left_out_inputs(direction):
    count = 2 if direction == "bidirectional" else 1
    model = make_model(
        [node("LSTM", "x w r", "y h c", hidden_size=4, direction=direction)],
        [("x", [3, 2, 5])],
        ["y", "h", "c"],
        {"w": random(count, 16, 5), "r": random(count, 16, 4)},
    )
    module = import_model(model)
    module.verify()
    assert names_of(module) == ["lstm"]


def test_batch_first_lstm():
    weights = {"w": random(1, 16, 5), "r": random(1, 16, 4)}
    attributes = {"hidden_size": 4, "layout": 1}
    model = make_model(
        [node("LSTM", "x w r", "y h", **attributes)],
        [("x", [2, 3, 5])],
        ["y", "h"],
        weights,
    )
    module = check(model, random(2, 3, 5))
    assert names_of(module) == ["transpose", "lstm", "transpose", "transpose"]


def test_old_opset_of_unchanged_operators():
    model = make_model([node("Not", "c")], [], opset=1)
    model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, [2]))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    assert names_of(import_model(model)) == ["not"]
