"""Serves the digits network, asks it over HTTP by JSON and by bytes, and stops.

make serve-demo
"""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np

DIGITS = Path(__file__).parent / "digits"
SERVE = ["-c", "from glow.tools.start import glow; glow()", "serve"]
JSON_SIZE = "Inference-Header-Content-Length"


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[bytes, str | None]:
    """A response, and how much of it is JSON where bytes follow."""
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read(), answer.headers[JSON_SIZE]


def ask_in_json(url: str, images: np.ndarray) -> np.ndarray:
    """The scores of images, as numbers in JSON."""
    entry = {"name": "image", "shape": list(images.shape), "datatype": "FP32"}
    document = {"inputs": [{**entry, "data": images.ravel().tolist()}]}
    body, _ = post(url, json.dumps(document).encode(), {})
    (output,) = json.loads(body)["outputs"]
    return np.array(output["data"], np.float32).reshape(output["shape"])


def ask_in_bytes(url: str, images: np.ndarray) -> np.ndarray:
    """The scores of images, as bytes behind the JSON."""
    entry = {"name": "image", "shape": list(images.shape), "datatype": "FP32"}
    document = {
        "inputs": [{**entry, "parameters": {"binary_data_size": images.nbytes}}],
        "parameters": {"binary_data_output": True},
    }
    text = json.dumps(document).encode()
    headers = {JSON_SIZE: str(len(text)), "Content-Type": "application/octet-stream"}
    body, size = post(url, text + images.tobytes(), headers)
    (output,) = json.loads(body[: int(size or 0)])["outputs"]
    scores = np.frombuffer(body[int(size or 0) :], np.float32)
    return scores.reshape(output["shape"])


def main() -> None:
    """Serve, ask and stop."""
    held_back = np.load(DIGITS / "held_back.npz")
    images, labels = (held_back[name] for name in held_back.files[:2])
    command = [sys.executable, *SERVE, str(DIGITS / "mlp.onnx"), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, "the server did not start"
        print(f"server: {line.strip()}")
        url = f"{found[0]}/v2/models/mlp/infer"
        for image, label in zip(images[:5], labels[:5], strict=True):
            one = np.ascontiguousarray(image, np.float32).reshape(1, 1, 8, 8)
            scores = ask_in_bytes(url, one)
            np.testing.assert_array_equal(scores, ask_in_json(url, one))
            print(f"a picture of a {label}: the network says {scores.argmax()}")
        server.send_signal(signal.SIGTERM)
        print(f"server: drained and ended with status {server.wait(30)}")
    finally:
        server.kill()
        server.communicate()


if __name__ == "__main__":
    main()
