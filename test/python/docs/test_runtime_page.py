"""docs/runtime.md: its Python runs and prints what it says, and its files are there."""

from __future__ import annotations

import json
import os
import re

from places import ROOT

PAGE = (ROOT / "docs" / "runtime.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_python(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    cores = sorted(os.sched_getaffinity(0))
    names = {}
    for block in PYTHON:
        for number in (1, 0):
            block = block.replace(f"cpu@{number}", f"cpu@{cores[number % len(cores)]}")
        exec(block, names)
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", PAGE, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected
    events = json.loads((tmp_path / "host.trace.json").read_text())["traceEvents"]
    spans = [event["args"] for event in events if event["ph"] == "X"]
    assert {span["request"] for span in spans} == {"first"}
    assert any("kernel" in span for span in spans)


def test_files():
    """What the page names stands in the tree."""
    (table,) = re.findall(r"## Where things are\n(.*)", PAGE, re.DOTALL)
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", table):
        places = [ROOT, ROOT / "glow" / "host"]
        assert any((place / name).exists() for place in places), name
