"""Some random and broken requests for inference, in HTTP and gRPC."""

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("grpc")

from codec_checks import MUTANTS, Wrong, check_grpc, check_http, check_mutant

SEEDS = range(60)  # Of the thousands of `test/fuzz/serving/codec_checks.py`.


@pytest.mark.parametrize("check", [check_http, check_grpc])
def test_requests_are_read_right_or_refused(check):
    assert sum(map(check, SEEDS)) == len(SEEDS) * (2 + MUTANTS)


def test_another_reading_is_caught(monkeypatch):
    body = (
        b'{"inputs": [{"name": "x", "shape": [2], "datatype": "INT8", "data": [1, 2]}]}'
    )
    check_mutant(0, body, None)
    monkeypatch.setattr(
        "glow.serving.json_codec._numbers_in", lambda *_: np.ones(2, "i1")
    )
    with pytest.raises(Wrong, match="read as"):
        check_mutant(0, body, None)
