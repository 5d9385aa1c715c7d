"""Reductions of integers whose results are none, and files of elements that are only stored."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models.operator_testing import check_operator

import glow
from glow.dialects.errors import GlowError


@pytest.mark.parametrize("operator", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
def test_integers_are_truncated(operator):
    for dtype in (np.int32, np.int64):
        x = np.array([[3, 4, 12], [1, 2, 7]], dtype)
        check_operator(operator, [x, np.array([1])], (1,), keepdims=0)


def packed_model(data, sizes=(5,), kind=TensorProto.INT4):
    """A model that returns a constant of packed elements, given as raw bytes."""
    tensor = helper.make_tensor("c", kind, sizes, data, raw=True)
    node = helper.make_node("Identity", ["c"], ["y"])
    info = helper.make_tensor_value_info("y", kind, sizes)
    graph = helper.make_graph([node], "packed", [], [info], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


def test_packed_constants_are_unpacked():
    numbers = glow.compile(packed_model(b"\x21\xf3\x08"))()
    assert numbers.dtype == ml_dtypes.int4
    np.testing.assert_array_equal(numbers.astype(np.int8), [1, 2, 3, -1, -8])
    twos = glow.compile(packed_model(b"\xe4\x01", kind=TensorProto.UINT2))()
    np.testing.assert_array_equal(twos.astype(np.uint8), [0, 1, 2, 3, 1])


def test_packed_constants_of_another_size_are_refused():
    model = packed_model(b"\x21\xf3\x08")
    model.graph.initializer[0].raw_data += b"\x00"
    with pytest.raises(GlowError, match=r"4 bytes, but its shape \[5\] needs 3"):
        glow.compile(model)
