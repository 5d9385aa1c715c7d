"""Suppression of many boxes where a rest is evaluated: by programs, as the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from glow import compiler
from glow.dialects.glow import SelectBoxesOp
from glow.interpreter.indexing import run_select_boxes
from glow.options import CompileOptions
from glow.specialization.selected_boxes import FEW, CompiledSelection, types_of


@pytest.fixture
def sizes():
    return []


@pytest.fixture
def selection(sizes):
    def compile_module(module):
        model = compiler.compile_module(module, CompileOptions(threads=1))
        sizes.append(model.inputs[0].shape[1])
        return model

    return CompiledSelection(compile_module)


@pytest.mark.parametrize("centers", [False, True])
def test_as_the_interpreter(selection, sizes, centers):
    random = np.random.default_rng(0)
    for count, candidates, limit in (
        (FEW, FEW, FEW),
        (200, 200, 200),
        (150, 250, 7),
        (300, 257, 300),
        (250, 129, 600),
    ):
        boxes = random.random((2, count, 4), np.float32)
        order = random.integers(0, count, (2, 3, candidates))
        valid = random.random((2, 3, candidates)) < 0.9
        arrays = [boxes, order, valid, np.array(0.3, np.float32)]
        block = Block(arg_types=types_of(2, 3, count, candidates))
        op = SelectBoxesOp.build_node(block.args, limit=limit, center_point_box=centers)
        found = selection.run(op, *arrays)
        for one, expected in zip(found, run_select_boxes(op, *arrays), strict=True):
            np.testing.assert_array_equal(one, expected)
    assert sizes == [256, 256, 512]
