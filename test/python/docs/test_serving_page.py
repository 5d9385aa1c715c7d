"""The session of `docs/serving.md` runs as it is written."""

import json
import re
import shutil
import signal
import subprocess
import sys

import pytest
from places import ROOT

PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
START = "from glow.tools.start import glow; glow()"


def block(mark):
    """The block behind a mark."""
    return re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)[
        1
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_session(tmp_path):
    (tmp_path / "request.json").write_text(block("request.json"))
    model = ROOT / "examples" / "digits" / "mlp.onnx"
    command = [sys.executable, "-c", START, "serve", str(model), "--port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", child.stdout.readline())[0]
        answers = [
            subprocess.run(
                ["sh", "-c", line],
                env={"URL": url, "PATH": "/usr/bin:/bin"},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for line in block("session").splitlines()
        ]
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.communicate()
    ready, metadata, digits, missing, index, metrics = answers
    assert json.loads(ready) == {"ready": True}
    assert json.loads(metadata)["versions"] == ["1"]
    (output,) = json.loads(digits)["outputs"]
    assert output["shape"] == [1, 10]
    assert max(range(10), key=output["data"].__getitem__) == 0
    assert missing == json.dumps({"error": "unknown model 'nothing'; there are mlp"})
    assert f"`{missing}`" in PAGE
    assert json.loads(index)[0]["state"] == "READY"
    assert (
        'glow_requests_total{model="mlp",protocol="http",status="200"} 1.0' in metrics
    )
