"""Configurations edited in the program: other loops, the same values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
from support.kernels.kernel_families import EXACT, ROWS, make_inputs, network
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import glow
from glow.backends.cpu.dialect.config_attributes import CONFIGS, PanelsAttr
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.compiler import load, lower_to

KEPT = ("block_rows", "chunk", "segments")
"""Fields whose smallest values do not fit every kernel."""


def smallest(config: object, *, packed: bool) -> object:
    """The smallest tiles that read the same panels."""
    changes: dict[str, object] = {}
    for part in fields(config):
        value = getattr(config, part.name)
        if isinstance(value, tuple):
            changes[part.name] = (1,) * len(value)
        elif part.name == "row_blocks":
            changes[part.name] = ROWS // 2
        elif part.name == "key_block":
            changes[part.name] = 64
        elif part.name == "cut":
            changes[part.name] = "rows"
        elif part.name == "order":
            changes[part.name] = "channels"
        elif type(value) is int and part.name not in KEPT:
            changes[part.name] = value if packed and part.name == "blocks" else 1
    return replace(config, **changes)


def configured(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if "config" in op.properties)


@pytest.fixture(scope="module")
def lowered() -> ModuleOp:
    """With Strassen's product, which pays on some machines alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StrassenSpec, "is_profitable", lambda spec, _: spec.rows == ROWS)
        return lower_to(load(network()), "lowered")


def test_other_configurations_have_the_same_values(lowered: ModuleOp) -> None:
    edited, inputs = lowered.clone(), make_inputs()
    found = set()
    for op in configured(edited):
        config = op.properties["config"]
        packed = "panels" in op.properties
        op.properties["config"] = type(config)(smallest(config.data, packed=packed))
        found.add(type(config))
    assert found == set(CONFIGS) - {PanelsAttr}
    expected, results = (
        glow.compile(lowered).run(inputs),
        glow.compile(edited).run(inputs),
    )
    for name, array in expected.items():
        if name in EXACT:
            np.testing.assert_array_equal(results[name], array, err_msg=name)
        else:
            np.testing.assert_allclose(
                results[name], array, rtol=1e-4, atol=1e-4, err_msg=name
            )
