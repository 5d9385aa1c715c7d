"""What users are told who have not installed Ray."""

from __future__ import annotations

import sys

import pytest

import glow
from glow.dialects.errors import GlowError


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(GlowError, match=r"needs Ray; pip install 'glow-xdsl\[ray\]'"):
        glow.Host("ray")
