"""Triton's clients against one server, over both protocols."""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from test_serve_command import started

TYPES = {
    "FP32": "FLOAT", "FP64": "DOUBLE", "FP16": "FLOAT16", "INT8": "INT8", "UINT8": "UINT8",
    "INT16": "INT16", "UINT16": "UINT16", "INT32": "INT32", "UINT32": "UINT32",
    "INT64": "INT64", "UINT64": "UINT64", "BOOL": "BOOL",
}  # fmt: skip
"""The protocol's names, and ONNX's."""


def save_types(folder):
    """The file of a network that turns a matrix of each type around."""
    nodes, inputs, outputs = [], [], []
    for name, kind in TYPES.items():
        x, y, kind = f"x{name}", f"y{name}", getattr(TensorProto, kind)
        inputs.append(helper.make_tensor_value_info(x, kind, [2, 3]))
        outputs.append(helper.make_tensor_value_info(y, kind, [3, 2]))
        nodes.append(helper.make_node("Transpose", [x], [y], perm=[1, 0]))
    graph = helper.make_graph(nodes, "types", inputs, outputs)
    path = folder / "types.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server of that network."""
    path = save_types(tmp_path_factory.mktemp("models"))
    with started(path, "--grpc-port", 0, "--batching", "off") as (_, line):
        yield dict(re.findall(r"(http|grpc)://(\S+)", line))


def arrays():
    """A matrix of each type."""
    drawn = np.random.default_rng(0).integers(0, 2, (2, 3))
    kinds = {
        n: helper.tensor_dtype_to_np_dtype(getattr(TensorProto, k))
        for n, k in TYPES.items()
    }
    return {name: drawn.astype(dtype) for name, dtype in kinds.items()}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_tritons_client(address, protocol):
    triton = pytest.importorskip(f"tritonclient.{protocol}")
    with triton.InferenceServerClient(address[protocol]) as client:
        assert client.is_server_live()
        assert client.is_model_ready("types")
        for is_binary in [True, False] if protocol == "http" else [True]:
            check_types(triton, client, protocol, is_binary)
        x = triton.InferInput("xFP32", [2, 2], "FP32")
        x.set_data_from_numpy(np.zeros((2, 2), np.float32))
        with pytest.raises(triton.InferenceServerException, match="input"):
            client.infer("types", [x])
        with pytest.raises(
            triton.InferenceServerException, match="unknown model 'none'"
        ):
            client.infer("none", [x])


def check_types(triton, client, protocol, is_binary):
    """All types in one request, as bytes or as JSON."""
    given, wanted = [], []
    for name, array in arrays().items():
        given.append(triton.InferInput(f"x{name}", array.shape, name))
        how = {"binary_data": is_binary or name == "FP16"} if protocol == "http" else {}
        given[-1].set_data_from_numpy(array, **how)
        wanted.append(triton.InferRequestedOutput(f"y{name}", **how))
    found = client.infer("types", given, outputs=wanted, request_id="7")
    for name, array in arrays().items():
        output = found.as_numpy(f"y{name}")
        assert output.dtype == array.dtype
        np.testing.assert_array_equal(output, array.T)
