"""Asks a server as KServe's Python client does, over HTTP and gRPC; runs where that is installed.

    build/kserve/bin/python test/python/support/runtime/kserve_client.py http://HOST:PORT HOST:PORT

The server has the network `types`, which turns a matrix of each type around (`test_clients.py`).
Printed is what was asked for and came out right.
"""

import asyncio
import sys

import httpx
import numpy as np
from grpc import RpcError
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest
from kserve.inference_client import RESTConfig
from kserve.protocol.infer_type import RequestedOutput

TYPES = {
    "FP32": np.float32, "FP64": np.float64, "INT8": np.int8, "UINT8": np.uint8,
    "INT16": np.int16, "UINT16": np.uint16, "INT32": np.int32, "UINT32": np.uint32,
    "INT64": np.int64, "UINT64": np.uint64, "BOOL": np.bool_, "FP16": np.float16,
}  # fmt: skip


def arrays():
    """A matrix of each type."""
    drawn = np.random.default_rng(0).integers(0, 2, (2, 3))
    return {name: drawn.astype(dtype) for name, dtype in TYPES.items()}


def request(model, is_binary, wanted=None):
    """All matrices in one request; FP16 has no numbers in JSON that this client writes."""
    inputs = []
    for name, array in arrays().items():
        inputs.append(InferInput(f"x{name}", list(array.shape), name))
        inputs[-1].set_data_from_numpy(array, binary_data=is_binary or name == "FP16")
    outputs = [
        RequestedOutput(f"y{name}", {"binary_data": is_binary or name == "FP16"})
        for name in wanted or TYPES
    ]
    return InferRequest(model, inputs, request_id="7", request_outputs=outputs)


def check(response, wanted=None):
    """The matrices turned around, in the order in which they were asked for."""
    assert response.id == "7"
    names = list(wanted or TYPES)
    assert [one.name for one in response.outputs] == [f"y{name}" for name in names]
    for name, output in zip(names, response.outputs, strict=True):
        found, array = output.as_numpy(), arrays()[name]
        assert found.dtype == array.dtype, name
        np.testing.assert_array_equal(found.reshape(output.shape), array.T)


async def error_of(asking):
    """What is raised instead of an answer; None where there is one."""
    try:
        await asking
    except (httpx.HTTPError, RpcError) as error:
        return error
    return None


async def over_http(url):
    """Health, all types as bytes and as numbers, and errors."""
    async with InferenceRESTClient(RESTConfig(protocol="v2")) as client:
        assert await client.is_server_live(url)
        assert await client.is_server_ready(url)
        assert await client.is_model_ready(url, "types")
        for is_binary in (True, False):
            check(await client.infer(url, request("types", is_binary), "types"))
            one = request("types", is_binary, ["INT8"])
            check(await client.infer(url, one, "types"), ["INT8"])
        error = await error_of(client.infer(url, request("none", True), "none"))
        assert isinstance(error, httpx.HTTPStatusError)
        assert error.response.status_code == 404
        assert "unknown model 'none'" in str(error)


async def over_grpc(address):
    """Health, all types as bytes, and errors."""
    async with InferenceGRPCClient(address) as client:
        assert await client.is_server_live()
        assert await client.is_server_ready()
        assert await client.is_model_ready("types")
        check(await client.infer(request("types", True)))
        error = await error_of(client.infer(request("none", True)))
        assert isinstance(error, RpcError)
        assert error.code().name == "NOT_FOUND"


asyncio.run(over_http(sys.argv[1]))
asyncio.run(over_grpc(sys.argv[2]))
print(f"{len(TYPES)} types over HTTP and gRPC")
