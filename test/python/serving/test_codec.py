"""The codec of HTTP: tensors come out as they went in, and wrong requests get an error."""

import json

import numpy as np
import pytest

from glow.serving.datatypes import DTYPES
from glow.serving.json_codec import DecodedRequest, decode_request, encode_response
from glow.serving.requests import InferenceResponse, ServingError


def decoded(shape, data, datatype="FP32"):
    """The input of a request in JSON."""
    entry = {"name": "x", "shape": shape, "datatype": datatype, "data": data}
    return decode_request(json.dumps({"inputs": [entry]}).encode(), None).inputs["x"]


@pytest.mark.parametrize(
    ("shape", "data", "datatype", "reason"),
    [
        ([2**62, 0], [], "FP32", "has the wrong shape"),
        ([2], [True, 1], "INT32", "no numbers of INT32"),
        ([2], [0, 1], "BOOL", "no numbers of BOOL"),
        ([1], [70000], "FP16", "beyond FP16"),
        ([1], [10**400], "FP32", "beyond FP32"),
        ([1], [256], "UINT8", "beyond UINT8"),
        ([2], [[1], 2], "FP32", "not of one depth"),
        ([2], [[1, 2], [3]], "FP32", "not of one length"),
    ],
)
def test_numbers_that_do_not_fit(shape, data, datatype, reason):
    with pytest.raises(ServingError, match=reason):
        decoded(shape, data, datatype)


def test_a_long_text_among_numbers_takes_no_memory():
    """NumPy would make each of a million numbers as long a text: four terabytes."""
    with pytest.raises(ServingError, match="no numbers"):
        decoded([10**6 + 1], [1] * 10**6 + ["a" * 10**6])


def test_bytes_are_views_of_the_body():
    x = np.arange(4, dtype=np.float32)
    entry = {"name": "x", "shape": [4], "datatype": "FP32"}
    entry["parameters"] = {"binary_data_size": x.nbytes}
    text = json.dumps({"inputs": [entry]}).encode()
    text += b" " * (-len(text) % 16)  # So that numbers are where their type wants them.
    body = text + x.tobytes()
    found = decode_request(body, len(text)).inputs["x"]
    assert np.shares_memory(found, np.frombuffer(body, np.uint8))


@pytest.mark.parametrize("is_binary", [True, False])
@pytest.mark.parametrize("name", [name for name in DTYPES if name != "BF16"])
def test_requests_and_responses_of_tritons_client(name, is_binary):
    client = pytest.importorskip("tritonclient.http")
    if name == "FP16" and not is_binary:
        pytest.skip("the client sends FP16 as bytes only")
    x = np.array([[0, 1, 1], [1, 0, 1]], DTYPES[name])
    given = client.InferInput("x", x.shape, name)
    given.set_data_from_numpy(x, binary_data=is_binary)
    wanted = [client.InferRequestedOutput("y", binary_data=is_binary)]
    make = client.InferenceServerClient.generate_request_body
    body, size = make([given], outputs=wanted)
    request = decode_request(bytes(body), size)
    assert isinstance(request, DecodedRequest)
    np.testing.assert_array_equal(request.inputs["x"], x)
    answer = InferenceResponse("m", "1", "", {"y": request.inputs["x"]})
    parts, size = encode_response(answer, request)
    read = client.InferenceServerClient.parse_response_body
    found = read(b"".join(parts), header_length=size).as_numpy("y")
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)
