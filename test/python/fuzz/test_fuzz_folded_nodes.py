"""A slice of `make fuzz`: examples of operators at their versions, folded and computed."""

from __future__ import annotations

import pytest
from checks import Wrong
from folded_nodes import RANDOM, check_folded_node, examples, versions_of
from onnx import defs

from glow.frontends.onnx.importer import handlers_of
from glow.frontends.onnx.registry import HANDLERS

WITHOUT_EXAMPLES = {"GlobalLpPool", "MaxRoiPool"}
"""Operators of which ONNX has no test."""


def test_folded_nodes_are_computed_ones() -> None:
    seeds = range(5, len(examples()), 40)
    assert sum(map(check_folded_node, seeds)) > len(seeds)


def test_all_operators_have_examples() -> None:
    taken = {name for name in handlers_of("") if defs.has(name) and versions_of(name)}
    taken -= RANDOM | WITHOUT_EXAMPLES
    assert {example.node.op_type for example in examples()} == taken
    assert len({(example.node.op_type, example.opset) for example in examples()}) > 300


def test_another_meaning_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, "Neg", HANDLERS["Abs"])
    numbers = [
        n for n, example in enumerate(examples()) if example.node.op_type == "Neg"
    ]
    with pytest.raises(Wrong, match="is not"):
        sum(map(check_folded_node, numbers))


def test_another_meaning_of_an_old_version_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("glow.frontends.onnx.operators.normalization.AXIS_SOFTMAX", 7)
    old = [
        number
        for number, example in enumerate(examples())
        if example.node.op_type == "Softmax" and example.opset < 13
    ]
    with pytest.raises(Wrong, match="Softmax-"):
        sum(map(check_folded_node, old))
