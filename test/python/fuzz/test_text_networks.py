"""Networks at every level: their text is stable, and computes what they compute.

A slice of `make fuzz`, which takes all networks of the benchmarks.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from text_mutations import Unclear, check_mutation, check_text
from text_networks import MODELS, check_network


@pytest.mark.parametrize("name", ["bert", "digits", "lstm"])
def test_text_is_stable_and_computes_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    check_network(name, tmp_path)


def test_networks_and_examples_are_there() -> None:
    assert {"resnet50_full", "bert_base_full", "mlp", "depthwise"} <= MODELS.keys()


def test_mutated_programs_fail_in_one_line() -> None:
    """A slice of `make fuzz`; some of them work."""
    assert sum(check_mutation(seed) for seed in range(200)) > 4


def test_an_unclear_failure_is_found() -> None:
    def fail(_: object) -> None:
        raise KeyError("x")

    text = "func.func @main() {\n  func.return\n}"
    with pytest.raises(Unclear, match="internal error"):
        check_text(text, "here", fail)
