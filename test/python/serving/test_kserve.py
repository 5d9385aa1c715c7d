"""KServe's Python client, in an environment of its own (`make serving-clients` makes it)."""

import re
import subprocess

import pytest
from places import ROOT
from test_clients import save_types
from test_serve_command import started

PYTHON = ROOT / "build" / "kserve" / "bin" / "python"
CLIENT = ROOT / "test" / "python" / "support" / "runtime" / "kserve_client.py"


@pytest.mark.skipif(not PYTHON.exists(), reason="make serving-clients installs KServe")
def test_kserves_client(tmp_path):
    path = save_types(tmp_path)
    with started(path, "--grpc-port", 0, "--batching", "off") as (_, line):
        addresses = dict(re.findall(r"(http|grpc)://(\S+)", line))
        command = [PYTHON, CLIENT, f"http://{addresses['http']}", addresses["grpc"]]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout == "12 types over HTTP and gRPC\n"
