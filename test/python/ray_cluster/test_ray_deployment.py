"""The inference protocol by replicas of Ray Serve."""

from __future__ import annotations

import os
import socket

import numpy as np
import pytest
from onnx import parser

from glow.dialects.errors import GlowError

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray = pytest.importorskip("ray", reason="Ray is an extra")
serve = pytest.importorskip("ray.serve", reason="so is Ray Serve")
httpx = pytest.importorskip("httpx")
from glow.serving.ray_deployment import deployment  # noqa: E402

MODEL = """
<ir_version: 9, opset_import: ["" : 18]>
doubling (float[2, 3] x) => (float[2, 3] y) { y = Add(x, x) }
"""


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 << 20,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": number})
        yield number
    finally:
        serve.shutdown()
        ray.shutdown()


def test_one_line_serves_a_folder(port, tmp_path):
    folder = tmp_path / "doubling" / "1"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(parser.parse_model(MODEL).SerializeToString())
    serve.run(deployment(tmp_path, ray_actor_options={"num_cpus": 0.5}, num_replicas=2))
    url = f"http://127.0.0.1:{port}/v2"
    with httpx.Client(timeout=60) as client:
        assert client.get(f"{url}/health/ready").json() == {"ready": True}
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = {"name": "x", "shape": x.shape, "datatype": "FP32", "data": x.tolist()}
        for _ in range(4):
            answer = client.post(
                f"{url}/models/doubling/infer", json={"inputs": [tensor]}
            )
            (y,) = answer.json()["outputs"]
            np.testing.assert_array_equal(np.reshape(y["data"], y["shape"]), 2 * x)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(GlowError, match=r"none\.onnx: no such file or folder"):
        deployment([tmp_path / "none.onnx"])
