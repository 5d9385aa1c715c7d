"""How far ahead weights are fetched: where a configuration says so, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from xdsl.dialects.builtin import i8

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.tuning.families import FAMILIES, wrong_config
from glow.backends.cpu.tuning.kernels import BUILDERS
from glow.backends.cpu.tuning.limits import fetches_weights
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS

TARGET = PRESETS["avx2"].with_core(l2_bytes=2**14)
WINDOW = Window((7, 7), (1, 1))

SPECS: dict[str, Any] = {
    "conv2d": Conv2dSpec(
        1,
        64,
        64,
        WINDOW,
        lanes=8,
        has_bias=True,
        config=ConvConfig(2, (6,), order="channels"),
    ),
    "int8_conv2d": Int8Conv2dSpec(
        1, 256, 256, WINDOW, lanes=8, has_bias=True, block_lanes=8, element=i8
    ),
    "matmul": MatmulSpec(64, 64, 128, has_bias=True),
    "one row": MatmulSpec(1, 64, 128, has_bias=True),
    "strassen": StrassenSpec(128, 128, 128, has_bias=True, levels=1),
    "winograd": WinogradSpec(
        1, 64, 64, (14, 14), (1, 1, 1, 1), 4, 3, lanes=8, has_bias=True
    ),
}


def operations(spec: Any, prefetch: int) -> tuple[int, Counter[str]]:
    """The prefetches of a kernel, and its operations but those that calculate indices."""
    model = spec.config or FAMILIES[type(spec).__name__].model(spec, TARGET)
    config = replace(model, prefetch=prefetch)
    assert wrong_config(spec, config, TARGET) is None
    assert fetches_weights(replace(spec, config=config), TARGET)
    names = Counter(
        op.name
        for kernel, _ in BUILDERS[type(spec)](replace(spec, config=config), TARGET)
        for op in kernel.function.walk()
        if not op.results or str(op.results[0].type) != "index"
    )
    return names.pop("memref.prefetch", 0), names


@pytest.mark.parametrize("name", SPECS)
def test_a_distance_changes_the_prefetches_alone(name: str) -> None:
    usual, names = operations(SPECS[name], 1)
    further, same = operations(SPECS[name], 2)
    none, without = operations(SPECS[name], 0)
    assert further == usual > none
    assert same == names == without


@pytest.mark.parametrize("name", SPECS)
def test_weights_that_are_near_are_not_fetched(name: str) -> None:
    near = TARGET.with_core(l2_bytes=2**22)
    spec = SPECS[name]
    config = FAMILIES[type(spec).__name__].model(spec, near)
    assert not fetches_weights(replace(spec, config=config), near)
