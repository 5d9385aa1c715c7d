"""Networks at every level: their text is stable, and computes what they compute.

A slice of `make fuzz`, which takes all networks of the benchmarks.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.all_networks import ALL, CHEAP, chosen
from support.programs.network_texts import check_texts
from text_mutations import Unclear, check_mutation, check_text


@pytest.mark.parametrize("name", ["digits", "tiny_lstm"])
def test_text_is_stable_and_computes_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    check_texts(name, CHEAP[name](), tmp_path)


def test_networks_and_examples_are_there() -> None:
    assert {"resnet50", "bert_base", "mlp", "depthwise", "tiny_lstm"} <= ALL.keys()
    assert chosen([]) == ALL
    assert list(chosen(["mlp", "digits"])) == ["mlp", "digits"]


def test_another_name_is_answered_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        chosen(["mlp", "resnet5"])
    assert caught.value.code == 2
    line = "error: there is no network 'resnet5'; did you mean 'resnet50'?\n"
    assert capsys.readouterr().err == line


def test_mutated_programs_fail_in_one_line() -> None:
    """A slice of `make fuzz`; some of them work."""
    assert sum(check_mutation(seed) for seed in range(200)) > 4


def test_an_unclear_failure_is_found() -> None:
    def fail(_: object) -> None:
        raise KeyError("x")

    text = "func.func @main() {\n  func.return\n}"
    with pytest.raises(Unclear, match="internal error"):
        check_text(text, "here", fail)
