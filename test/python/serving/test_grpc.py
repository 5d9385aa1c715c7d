"""The service over gRPC, asked as Triton's client does."""

import asyncio
import json
import threading
import time
from contextlib import ExitStack

import grpc
import numpy as np
import onnx
import pytest
from grpc_faults import PREFACE, SETTINGS, GrpcFaults, frame, headers, message
from onnx import TensorProto, helper

import glow
from glow.host.tracing import Tracer
from glow.serving.body import Limits
from glow.serving.folders import named_models
from glow.serving.grpc_service import make_server
from glow.serving.messages import SERVICE, message_class
from glow.serving.metrics import ServerMetrics
from glow.serving.repository import Repository
from glow.serving.requests import InferenceResponse
from glow.serving.service import Service
from glow.serving.wire import take_field, with_field

DATATYPES = ["FLOAT", "DOUBLE", "FLOAT16", "INT8", "UINT8", "INT32", "INT64", "BOOL"]


def save_identity(path):
    """A network that gives each of its inputs, of many types, as it came."""
    nodes, inputs, outputs = [], [], []
    for name in DATATYPES:
        kind = getattr(TensorProto, name)
        inputs.append(helper.make_tensor_value_info(f"x{name}", kind, [2, 3]))
        outputs.append(helper.make_tensor_value_info(f"y{name}", kind, [3, 2]))
        nodes.append(
            helper.make_node("Transpose", [f"x{name}"], [f"y{name}"], perm=[1, 0])
        )
    graph = helper.make_graph(nodes, "types", inputs, outputs)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)


class Slow:
    """A model that takes until somebody lets it go on; the rest is a repository's."""

    def __init__(self, repository):
        self.repository = repository
        self.running = 0
        self.cancelled = threading.Event()
        self.asked = None

    def __getattr__(self, name):
        return getattr(self.repository, name)

    async def infer(self, request):
        if request.model != "slow":
            return await self.repository.infer(request)
        self.asked = request
        self.running += 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        finally:
            self.running -= 1
        return InferenceResponse("slow", "1", "", {})


class Running:
    """A server in a thread, with what is behind it."""

    def __init__(self, folder):
        save_identity(folder / "types.onnx")
        self.tracer = Tracer()
        self.host = glow.Host("cpu", tracer=self.tracer)
        paths = named_models([folder / "types.onnx"])
        self.repository = Repository(self.host, paths, {"batching": "off"})
        self.repository.load_now("types")
        self.models = Slow(self.repository)
        self.metrics = ServerMetrics(self.host)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.port = self.run(self.start())

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    async def start(self):
        limits = Limits(body_bytes=1 << 20, requests=4)
        self.service = Service(self.models, limits, self.metrics, self.tracer)
        self.server = make_server(self.service)
        port = self.server.add_insecure_port("127.0.0.1:0")
        await self.server.start()
        return port

    def close(self):
        self.run(self.server.stop(None))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.host.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    server = Running(tmp_path_factory.mktemp("models"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def triton():
    return pytest.importorskip("tritonclient.grpc")


@pytest.fixture(scope="module")
def client(running, triton):
    with triton.InferenceServerClient(f"127.0.0.1:{running.port}") as found:
        yield found


def arrays():
    random = np.random.default_rng(0)
    found = {}
    for name in DATATYPES:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))
        found[f"x{name}"] = (random.integers(-4, 4, (2, 3)) % 5).astype(dtype)
    return found


def tensors(triton, values):
    found = []
    for name, array in values.items():
        datatype = "BOOL" if array.dtype == bool else str(array.dtype).upper()
        datatype = datatype.replace("FLOAT", "FP")
        found.append(triton.InferInput(name, array.shape, datatype))
        found[-1].set_data_from_numpy(array)
    return found


def test_the_server_tells_of_itself_and_its_models(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("types")
    assert not client.is_model_ready("types", "7")
    assert client.get_server_metadata().name == "glow"
    found = client.get_model_metadata("types", as_json=True)
    assert found["versions"] == ["1"]
    assert found["inputs"][0] == {
        "name": "xFLOAT", "datatype": "FP32", "shape": ["2", "3"],
    }  # fmt: skip
    index = client.get_model_repository_index(as_json=True)["models"]
    assert index == [{"name": "types", "version": "1", "state": "READY"}]


def test_raw_tensors_of_all_types(client, triton):
    values = arrays()
    result = client.infer("types", tensors(triton, values), request_id="seven")
    assert result.get_response().id == "seven"
    for name in DATATYPES:
        expected = values[f"x{name}"].T
        found = result.as_numpy(f"y{name}")
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_only_the_outputs_that_are_asked_for(client, triton):
    wanted = [triton.InferRequestedOutput("yINT8")]
    result = client.infer("types", tensors(triton, arrays()), outputs=wanted)
    assert [one.name for one in result.get_response().outputs] == ["yINT8"]


def call(running, method, **fields):
    """The response to a message of these fields."""
    names = {"ModelInfer": ("ModelInferRequest", "ModelInferResponse")}
    kinds = names.get(method, (f"{method}Request", f"{method}Response"))
    request, response = map(message_class, kinds)
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        return channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )(request(**fields), timeout=30)


FIELDS = {
    "FLOAT": ("FP32", "fp32_contents"),
    "DOUBLE": ("FP64", "fp64_contents"),
    "INT8": ("INT8", "int_contents"),
    "UINT8": ("UINT8", "uint_contents"),
    "INT32": ("INT32", "int_contents"),
    "INT64": ("INT64", "int64_contents"),
    "BOOL": ("BOOL", "bool_contents"),
}


def typed(name, array):
    datatype, field = FIELDS[name]
    contents = {field: array.ravel().tolist()}
    return {
        "name": f"x{name}", "datatype": datatype, "shape": array.shape,
        "contents": contents,
    }  # fmt: skip


def test_typed_elements_come_back_as_such(running, tmp_path):
    """But for 16-bit floats, which have none: the other types are asked for."""
    one = TensorProto.INT8
    x, y = (helper.make_tensor_value_info(name, one, [2, 3]) for name in ("xINT8", "y"))
    graph = helper.make_graph(
        [helper.make_node("Identity", ["xINT8"], ["y"])], "g", [x], [y]
    )
    onnx.save(helper.make_model(graph), tmp_path / "small.onnx")
    running.repository.files |= named_models([tmp_path / "small.onnx"])
    call(running, "RepositoryModelLoad", model_name="small")
    array = np.arange(-3, 3, dtype=np.int8).reshape(2, 3)
    response = call(
        running, "ModelInfer", model_name="small", inputs=[typed("INT8", array)]
    )
    assert list(response.outputs[0].contents.int_contents) == [-3, -2, -1, 0, 1, 2]
    assert not response.raw_output_contents
    call(running, "RepositoryModelUnload", model_name="small")
    assert not call(running, "ModelReady", name="small").ready


GOOD = {"name": "xINT8", "datatype": "INT8", "shape": [2, 3]}
"""An input of the network."""


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"model_name": "other"}, "INVALID_ARGUMENT", "needs inputs"),
        (
            {"model_name": "other", "inputs": [GOOD], "raw_input_contents": [b"123456"]},
            "NOT_FOUND",
            "unknown model 'other'",
        ),
        (
            {"model_version": "9", "inputs": [GOOD], "raw_input_contents": [b"123456"]},
            "NOT_FOUND",
            "no version '9'",
        ),
        ({"inputs": [GOOD], "raw_input_contents": [b"12345"]}, "INVALID_ARGUMENT", "6 bytes"),
        (
            {"inputs": [GOOD], "raw_input_contents": [b"123456", b""]},
            "INVALID_ARGUMENT",
            "of 2",
        ),
        (
            {"inputs": [GOOD, GOOD], "raw_input_contents": [b"123456"] * 2},
            "INVALID_ARGUMENT",
            "given twice",
        ),
        ({"inputs": [GOOD]}, "INVALID_ARGUMENT", "6 elements, but int_contents 0"),
        (
            {"inputs": [{**GOOD, "contents": {"int_contents": [1000] * 6}}]},
            "INVALID_ARGUMENT",
            "beyond INT8",
        ),
        (
            {"inputs": [{**GOOD, "datatype": "BYTES"}], "raw_input_contents": [b""]},
            "INVALID_ARGUMENT",
            "'BYTES' is not supported",
        ),
        (
            {"inputs": [{**GOOD, "shape": [-2, -3]}], "raw_input_contents": [b"123456"]},
            "INVALID_ARGUMENT",
            "-2 is no size",
        ),
        (
            {"inputs": [{**GOOD, "shape": [3, 2]}], "raw_input_contents": [b"123456"]},
            "INVALID_ARGUMENT",
            "has shape [2, 3]",
        ),
        (
            {"inputs": [GOOD], "raw_input_contents": [bytes(2 << 20)]},
            "RESOURCE_EXHAUSTED",
            "larger than max",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_status_and_one_line(running, fields, code, words):
    with pytest.raises(grpc.RpcError) as caught:
        call(running, "ModelInfer", **{"model_name": "types"} | fields)
    assert caught.value.code().name == code
    assert words in caught.value.details()
    assert "\n" not in caught.value.details()


def test_what_is_no_message(running):
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        for data in (b"\x0f", b"\x0a\xff", b"\x0a", b"\xff" * 20):
            with pytest.raises(grpc.RpcError) as caught:
                infer(data, timeout=30)
            assert caught.value.code().name == "INVALID_ARGUMENT"


def test_the_clients_deadline_is_the_requests(running):
    with pytest.raises(grpc.RpcError) as caught:
        call_slowly(running, timeout=0.5)
    assert caught.value.code().name == "DEADLINE_EXCEEDED"
    # What is left goes in a header of few digits, rounded up.
    assert 0 < running.models.asked.timeout < 0.55
    assert running.models.cancelled.wait(10)


def call_slowly(running, timeout):
    running.models.cancelled.clear()
    request = message_class("ModelInferRequest")(
        model_name="slow", inputs=[GOOD], raw_input_contents=[b"123456"]
    )
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        infer(request.SerializeToString(), timeout=timeout)


def test_clients_that_go_away_free_their_slots(running):
    """The server takes four requests at a time."""
    request = message_class("ModelInferRequest")(
        model_name="slow", inputs=[GOOD], raw_input_contents=[b"123456"]
    ).SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        for _ in range(2):
            calls = [infer.future(request, timeout=30) for _ in range(4)]
            wait_until(lambda: running.models.running == 4)
            with pytest.raises(grpc.RpcError, match="too many requests"):
                infer(request, timeout=30)
            for one in calls:
                one.cancel()
            wait_until(lambda: running.service.running == 0)


def test_messages_that_do_not_come_hold_up_nobody(running):
    """However many begin one: the server has room for four requests."""
    start = PREFACE + frame(SETTINGS) + headers() + message(1000, 10)
    with ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(
                GrpcFaults(("127.0.0.1", running.port)).connect()
            )
            client.sendall(start)
            assert client.recv(1)  # The server has taken the connection.
        wait_until(lambda: running.service.running == 0)
        assert call(running, "ServerLive").live


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_requests_are_counted_and_traced(running, client, triton, tmp_path):
    trace = "0123456789abcdef0123456789abcdef"
    headers = {"traceparent": f"00-{trace}-0123456789abcdef-01"}
    client.infer(
        "types", tensors(triton, arrays()), request_id="traced", headers=headers
    )
    running.tracer.write(tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text(encoding="utf-8")
    lanes = {e.lane for e in running.tracer.events() if e.context.trace_id == trace}
    assert {"grpc", "host"} <= lanes
    assert json.loads(text)
    figures = running.metrics.text().decode()
    assert 'glow_requests_total{model="types",protocol="grpc",status="200"}' in figures


def test_fields_of_bytes_are_taken_out_and_put_back():
    kind = message_class("ModelInferRequest")
    message = kind(model_name="m", id="7", raw_input_contents=[b"", bytes(300), b"ab"])
    data = message.SerializeToString()
    rest, values = take_field(data, 7)
    assert [bytes(one) for one in values] == [b"", bytes(300), b"ab"]
    assert all(one.obj is data for one in values)
    assert kind.FromString(rest) == kind(model_name="m", id="7")
    assert kind.FromString(with_field(rest, 7, values)) == message
