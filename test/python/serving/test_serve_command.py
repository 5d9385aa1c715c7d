"""`glow serve` as a user starts it: a child process, from its first line to its last."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import numpy as np
from places import ROOT

MODEL = ROOT / "examples" / "digits" / "mlp.onnx"
START = "from glow.tools.start import glow; glow()"


@contextmanager
def started(*arguments):
    """A server, and the line that it says; it is stopped whatever happens."""
    command = [
        sys.executable,
        "-c",
        START,
        "serve",
        *map(str, arguments),
        "--port",
        "0",
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield child, child.stdout.readline()
    finally:
        child.kill()
        child.communicate()


@contextmanager
def server(*arguments):
    """A server, and its address."""
    with started(*arguments) as (child, line):
        yield child, re.search(r"http://\S+", line)[0]


def ask(address, path, document=None):
    """The JSON of a response."""
    data = None if document is None else json.dumps(document).encode()
    with urllib.request.urlopen(f"{address}{path}", data, timeout=30) as response:
        return json.load(response)


def test_serves_until_a_signal(tmp_path):
    trace = tmp_path / "trace.json"
    with server(MODEL, "--threads", 1, "--trace", trace) as (child, address):
        assert ask(address, "/v2/health/ready") == {"ready": True}
        image = np.zeros((1, 1, 8, 8), np.float32)
        entry = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32"}
        entry["data"] = image.ravel().tolist()
        (output,) = ask(address, "/v2/models/mlp/infer", {"inputs": [entry]})["outputs"]
        assert output["shape"] == [1, 10]
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
    check_trace(json.loads(trace.read_text())["traceEvents"])


def check_trace(events):
    """One request on all lanes, from HTTP to kernels."""
    lanes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert list(lanes.values()) == ["http", "host", "queue", "cpu:0"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {lanes[event["pid"]] for event in spans} == set(lanes.values())
    assert len({event["args"]["request"] for event in spans}) == 1
    assert len({event["args"]["trace"] for event in spans}) == 1
    assert any("kernel" in event["args"] for event in spans)
