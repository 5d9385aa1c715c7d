"""The inference protocol over HTTP, by a client in the same process."""

import asyncio
import json

import httpx
import numpy as np
import pytest
from onnx import TensorProto, helper
from starlette.requests import Request

import glow
from glow.serving import repository
from glow.serving.app import make_app
from glow.serving.body import Bodies, Limits
from glow.serving.folders import models_in, named_models
from glow.serving.metrics import ServerMetrics
from glow.serving.repository import Repository
from glow.serving.requests import ServingError
from glow.serving.service import Service

SIZE = "Inference-Header-Content-Length"


def write_model(path, factor):
    """A model that multiplies rows, of which there may be any number."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [], [factor])
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A repository with a model, and its service."""
    folder = tmp_path_factory.mktemp("models")
    path = write_model(folder / "double.onnx", 2.0)
    with glow.Host(["cpu"]) as host:
        repository = Repository(host, named_models([path]), {"threads": 1})
        repository.load_now("double")
        limits = Limits(body_bytes=1 << 16, body_seconds=1.0)
        yield repository, make_app(Service(repository, limits, ServerMetrics(host)))


def ask(app, method, path, **how):
    """The response to one request."""

    async def run():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://t"
        ) as client:
            return await client.request(method, path, **how)

    return asyncio.run(run())


def infer(app, document, binary=b"", path="/v2/models/double/infer", **headers):
    """The response to a request for inference."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    if binary:
        headers[SIZE] = str(len(text))
    return ask(app, "POST", path, content=text + binary, headers=headers)


def tensor(data, **more):
    """An input as JSON."""
    array = np.asarray(data, np.float32)
    return {
        "name": "x",
        "shape": list(array.shape),
        "datatype": "FP32",
        "data": array.ravel().tolist(),
        **more,
    }


def test_json(served):
    _, app = served
    response = infer(app, {"id": "7", "inputs": [tensor([[1, 2, 3]])]})
    assert response.status_code == 200
    found = response.json()
    assert found["id"] == "7"
    assert found["model_name"] == "double"
    assert found["model_version"] == "1"
    assert found["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [2.0, 4.0, 6.0]}
    ]


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_binary(served, rows):
    _, app = served
    x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
    document = {
        "inputs": [
            {
                "name": "x",
                "shape": [rows, 3],
                "datatype": "FP32",
                "parameters": {"binary_data_size": x.nbytes},
            }
        ],
        "parameters": {"binary_data_output": True},
    }
    text = json.dumps(document).encode()
    headers = {SIZE: str(len(text))}
    path = "/v2/models/double/versions/1/infer"
    response = ask(app, "POST", path, content=text + x.tobytes(), headers=headers)
    assert response.status_code == 200, response.text
    size = int(response.headers[SIZE])
    (entry,) = json.loads(response.content[:size])["outputs"]
    y = np.frombuffer(response.content[size:], np.float32).reshape(entry["shape"])
    np.testing.assert_array_equal(y, 2 * x)


WRONG = [
    ({"inputs": [{**tensor([[1, 2, 3]]), "name": "z"}]}, "unknown input 'z'"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "datatype": "FP64"}]}, "datatype FP32, not"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "datatype": "BYTES"}]}, "'BYTES' is not"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "shape": [1, 4]}]}, "needs 4 numbers"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "shape": [3, 1]}]}, "shape [-1, 3], not"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "shape": [-1, 3]}]}, "-1 is no size"),
    ({"inputs": [{**tensor([[1, 2, 3]]), "data": [1, "a", 3]}]}, "no numbers of FP32"),
    ({"inputs": [tensor([[1, 2, 3]])] * 2}, "given twice"),
    ({"inputs": []}, "needs inputs"),
    ({"inputs": {}}, "inputs is no list"),
    ({"inputs": [tensor([[1, 2, 3]])], "outputs": [{"name": "q"}]}, "unknown output"),
    ({"inputs": [tensor([[1, 2, 3]])], "parameters": {"priority": "a"}}, "priority"),
    ({"inputs": [tensor([[1, 2, 3]])], "parameters": {"timeout": -1}}, "timeout"),
    (b'{"inputs": [', "not JSON"),
    (b"[" * 50_000, "not JSON"),
    (b"[]", "a request is a JSON object"),
    (b'{"inputs": [{"name": "x", "shape": [1], "data": [NaN]}]}', "NaN is no number"),
    (b'{"id": ' + b"9" * 5000 + b"}", "not JSON"),
]


@pytest.mark.parametrize(("document", "reason"), WRONG)
def test_wrong_requests(served, document, reason):
    _, app = served
    response = infer(app, document)
    assert response.status_code == 400
    assert reason in response.json()["error"]


@pytest.mark.parametrize(
    ("said", "sent", "reason"),
    [
        (12, 11, "needs 12 bytes, and there are 11"),
        (12, 13, "1 bytes behind the tensors"),
        (16, 16, "needs 12 bytes, not 16"),
        ("12", 12, "needs 12 bytes, not '12'"),
    ],
)
def test_wrong_bytes(served, said, sent, reason):
    _, app = served
    entry = {"name": "x", "shape": [1, 3], "datatype": "FP32"}
    entry["parameters"] = {"binary_data_size": said}
    response = infer(app, {"inputs": [entry]}, b"\0" * sent)
    assert response.status_code == 400
    assert reason in response.json()["error"]


def test_limits(served):
    _, app = served
    response = infer(app, b" " * (1 << 17))
    assert response.status_code == 413
    response = infer(app, {"inputs": []}, **{SIZE: "x"})
    assert response.status_code == 400


def read_slowly(limits, pieces, seconds):
    """What reading a body that comes in pieces raises, and the bytes held after it."""
    left = list(pieces)

    async def receive():
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def run():
        bodies = Bodies(limits)
        request = Request({"type": "http", "headers": []}, receive)
        with pytest.raises(ServingError) as caught:
            await bodies.read(request)
        return caught.value, bodies.held

    return asyncio.run(run())


def test_a_body_that_trickles_is_refused():
    """Each of its pieces comes in time."""
    limits = Limits(body_seconds=0.2, body_rate=1000)
    error, held = read_slowly(limits, [b"a"] * 1000, 0.01)
    assert (error.status, held) == (408, 0)


def test_bodies_of_all_clients_have_a_limit():
    limits = Limits(held_bytes=10)
    error, held = read_slowly(limits, [b"abcd"] * 5, 0)
    assert (error.status, error.retry_after, held) == (503, 1, 0)


def test_health_and_metadata(served):
    _, app = served
    assert ask(app, "GET", "/v2/health/live").json() == {"live": True}
    assert ask(app, "GET", "/v2/health/ready").status_code == 200
    assert ask(app, "GET", "/v2").json()["name"] == "glow"
    found = ask(app, "GET", "/v2/models/double").json()
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    assert found["versions"] == ["1"]
    assert ask(app, "GET", "/v2/models/double/ready").status_code == 200
    missing = ask(app, "GET", "/v2/models/none")
    assert missing.status_code == 404
    assert "unknown model 'none'" in missing.json()["error"]
    assert ask(app, "GET", "/v2/models/double/versions/9").status_code == 404
    assert ask(app, "GET", "/nowhere").status_code == 404
    assert ask(app, "GET", "/v2/models/double/infer").status_code == 405


def test_metrics(served):
    _, app = served
    infer(app, {"inputs": [tensor([[1, 2, 3]])]})
    infer(app, {"inputs": []}, path="/v2/models/other/infer")
    text = ask(app, "GET", "/metrics").text
    assert 'glow_requests_total{model="double",protocol="http",status="200"}' in text
    assert 'model="unknown",protocol="http",status="400"' in text
    assert 'glow_device_ready{device="cpu:0"} 1.0' in text


def test_repository(tmp_path):
    write_model(tmp_path / "scale" / "1" / "model.onnx", 2.0)
    with glow.Host(["cpu"]) as host:
        repository = Repository(host, models_in(tmp_path), {"threads": 1})
        repository.folder = tmp_path
        repository.load_now("scale")
        app = make_app(Service(repository))
        path = "/v2/models/scale/infer"
        document = {"inputs": [tensor([[1, 2, 3]])]}
        assert infer(app, document, path=path).json()["outputs"][0]["data"][0] == 2.0
        write_model(tmp_path / "scale" / "10" / "model.onnx", 5.0)
        (tmp_path / "broken" / "1").mkdir(parents=True)
        (tmp_path / "broken" / "1" / "model.onnx").write_bytes(b"no model")
        index = ask(app, "POST", "/v2/repository/index").json()
        states = {(e["name"], e["version"]): e["state"] for e in index}
        assert states == {
            ("broken", "1"): "UNAVAILABLE",
            ("scale", "1"): "READY",
            ("scale", "10"): "UNAVAILABLE",
        }
        load = "/v2/repository/models/{}/load"
        assert ask(app, "POST", load.format("scale")).status_code == 200
        found = infer(app, document, path=path).json()
        assert found["model_version"] == "10"
        assert found["outputs"][0]["data"][0] == 5.0
        old = infer(app, document, path="/v2/models/scale/versions/1/infer").json()
        assert old["outputs"][0]["data"][0] == 2.0
        broken = ask(app, "POST", load.format("broken"))
        assert broken.status_code == 400
        assert "model.onnx" in broken.json()["error"]
        unload = ask(app, "POST", "/v2/repository/models/scale/unload")
        assert unload.status_code == 200
        assert infer(app, document, path=path).status_code == 404
        assert list(host.models()) == []


def test_a_reload_waits_for_requests_that_have_begun(served, monkeypatch):
    """It comes between the look for a version and the request to the host."""
    holder, app = served
    reloads, plain = [holder], repository.checked

    def checked(request, version):
        while reloads:
            reloads.pop().load_now("double")
        return plain(request, version)

    async def run():
        holder.attach(asyncio.get_running_loop())
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://t"
        ) as client:
            document = {"inputs": [tensor([[1, 2, 3]])]}
            path = "/v2/models/double/infer"
            first = await client.post(path, json=document)
            return first, await client.post(path, json=document)

    monkeypatch.setattr(repository, "checked", checked)
    assert [response.status_code for response in asyncio.run(run())] == [200, 200]
    assert not reloads


def test_reload_loses_no_request(served):
    _, app = served
    document = {"inputs": [tensor([[1, 2, 3]])]}

    async def run():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://t"
        ) as client:
            loaded = asyncio.create_task(reload(client))
            statuses = []
            while not loaded.done() or not statuses:
                path = "/v2/models/double/infer"
                asked = [client.post(path, json=document) for _ in range(3)]
                responses = await asyncio.gather(*asked)
                statuses += [response.status_code for response in responses]
            return await loaded, statuses

    async def reload(client):
        path = "/v2/repository/models/double/load"
        return [(await client.post(path)).status_code for _ in range(3)]

    loads, statuses = asyncio.run(run())
    assert loads == [200] * 3
    assert set(statuses) == {200}
