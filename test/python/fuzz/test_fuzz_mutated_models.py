"""A slice of `make fuzz`: ONNX files with changed fields and bytes."""

import pytest
from checks import Wrong
from model_mutations import check_model_mutation, mutated

from glow.frontends.onnx.importer import handlers_of
from glow.frontends.onnx.registry import HANDLERS


def test_mutated_models_compute_or_fail_in_a_line():
    assert sum(map(check_model_mutation, range(200))) > 10


def test_seeds_repeat():
    assert mutated(7) == mutated(7)
    assert mutated(7) != mutated(11)


def test_an_unclear_error_is_found(monkeypatch):
    def fails(_):
        raise RuntimeError("tensor of\nno use")

    for name in handlers_of(""):
        monkeypatch.setitem(HANDLERS, name, fails)
    with pytest.raises(Wrong, match="seed"):
        sum(map(check_model_mutation, range(200)))
