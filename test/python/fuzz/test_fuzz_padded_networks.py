"""A slice of `make fuzz`: networks with buckets, at sizes between them."""

from __future__ import annotations

import pytest
from checks import Wrong
from padding.padded_checks import check_padded_graphs, check_padded_network

from glow.passes.graph.padding import lookup_rules, mask_padding, window_rules
from glow.passes.graph.padding.mask_padding import Masks


def test_padding_is_not_seen() -> None:
    assert sum(map(check_padded_network, range(1000, 1040))) > 120


def test_an_average_of_padding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Masks, "_rescaled", lambda self, mean, forms: mean)
    with pytest.raises(Wrong, match="off of"):
        sum(map(check_padded_network, range(40)))


def test_another_neutral_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_rules, "_neutral", lambda op: 0.0)
    with pytest.raises(Wrong):
        sum(map(check_padded_network, range(80)))


def test_edges_and_nodes_of_padding_are_not_seen() -> None:
    assert sum(map(check_padded_graphs, range(20))) == 20 * 7


def test_updates_of_padding_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_rules, "_check_neutral", lambda op, axis, updates: None)
    with pytest.raises(Wrong, match="off of"):
        sum(map(check_padded_graphs, range(20)))


def test_indices_from_another_end_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask_padding, "move_indices", lambda *arguments: None)
    with pytest.raises(Wrong, match="off of"):
        sum(map(check_padded_graphs, range(20)))
