"""Configurations come from the program, from what was tuned, or from the cost model."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kernels.kernel_families import make_inputs, network

import glow
from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.dialect.config_attributes import CONFIGS, PanelsAttr
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.tuning.algorithms import AlgorithmSpec
from glow.backends.cpu.tuning.candidates import (
    EARLY,
    GENERATORS,
    UNLIKE,
    candidates,
)
from glow.backends.cpu.tuning.choose import choose, choose_level
from glow.backends.cpu.tuning.families import (
    FAMILIES,
    config_from,
    spec_text,
)
from glow.backends.cpu.tuning.kernels import BUILDERS
from glow.compilation import find_source
from glow.compiler import load, lower_to
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS, host_target
from glow.options import CompileOptions
from glow.tools.machine.tune_command import MOST
from glow.tuning import choices
from glow.tuning.choices import CHOSEN, refresh, tuning_file
from glow.tuning.records import (
    VERSION,
    Record,
    append_records,
    kernel_key,
    target_key,
)

TARGET = PRESETS["avx512"]
SPEC = MatmulSpec(128, 384, 1536, has_bias=True)
OWN = {
    "rows": 8,
    "blocks": 3,
    "cut": "auto",
    "prefetch": 1,
    "matrix_tiles": False,
    "streams": 1,
}
OTHER = {**OWN, "rows": 4, "blocks": 2, "cut": "rows", "prefetch": 0}


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where choices of this test stand."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GLOW_TUNING", "on")
    yield tuning_file(CHOSEN)
    monkeypatch.undo()
    refresh()


def keep(
    path: Path, spec: Any, config: dict[str, object], target: Any = TARGET
) -> None:
    text = spec_text(spec)
    key, kind = kernel_key(text), type(spec).__name__
    line = Record(VERSION, target_key(target), key, kind, text, config, gain=0.1)
    append_records(path, [line])
    refresh()


def test_the_model_chooses_where_nothing_was_tuned(chosen: Path) -> None:
    assert refresh() == ""
    assert asdict(choose(SPEC, TARGET)) == OWN


def test_the_last_choice_of_this_target_wins(chosen: Path) -> None:
    keep(chosen, SPEC, {"rows": 2, "blocks": 2})
    keep(chosen, SPEC, OTHER)
    keep(chosen, SPEC, {"rows": 1, "blocks": 1}, PRESETS["avx2"])
    assert asdict(choose(SPEC, TARGET)) == OTHER
    other_rows = replace(SPEC, rows=64)
    assert choose(other_rows, TARGET) == other_rows.choose_config(TARGET)


def test_a_choice_of_before_there_was_a_field_has_its_default(chosen: Path) -> None:
    keep(chosen, SPEC, {"rows": 4, "blocks": 2, "cut": "rows"})
    assert asdict(choose(SPEC, TARGET)) == {**OTHER, "prefetch": 1}


def test_weights_from_afar_are_fetched_otherwise_behind_the_first_tiles() -> None:
    """Of the model's choice; of a small product nothing is fetched, and nothing to be tried."""
    first, *others = candidates(SPEC, TARGET)[:MOST]
    places = [n for n, one in enumerate(others) if one.prefetch != first.prefetch]
    assert places == [UNLIKE, EARLY + 1, EARLY + 2]
    assert [replace(others[n], prefetch=1) for n in places] == [first] * 3
    assert [others[n].prefetch for n in places] == [0, 2, 4]
    small = candidates(MatmulSpec(128, 64, 64), TARGET)
    assert {config.prefetch for config in small} == {1}


def test_the_program_wins(chosen: Path) -> None:
    keep(chosen, SPEC, OTHER)
    said = MatmulConfig(1, 1)
    assert choose(replace(SPEC, config=said), TARGET) is said


def test_tuning_can_be_switched_off(
    chosen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(chosen, SPEC, OTHER)
    monkeypatch.setenv("GLOW_TUNING", "off")
    assert refresh() == ""
    assert asdict(choose(SPEC, TARGET)) == OWN


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"rows": 40, "blocks": 3}, "a tile of 40 rows .* allow 1 to 8 rows"),
        ({"rows": 0, "blocks": 3}, "the fields"),
        ({"rows": "4", "blocks": 3}, "the fields"),
        ({"rows": 4}, "the fields"),
        ({"rows": 4, "blocks": 3, "prefetch": -1}, "the fields"),
        ({"rows": 4, "blocks": 3, "prefetch": 9}, "a prefetch of 9: 0 to 8 are"),
        ({"rows": 4, "blocks": 3, "tiles": 1}, "the fields"),
    ],
)
def test_a_choice_that_does_not_fit_is_ignored_at_its_line(
    chosen: Path, config: dict[str, object], what: str
) -> None:
    keep(chosen, SPEC, config)
    with pytest.warns(UserWarning, match=rf"chosen\.jsonl:1: .*{what}.*; ignored"):
        assert asdict(choose(SPEC, TARGET)) == OWN


def test_an_algorithm_is_taken_away_but_never_added(chosen: Path) -> None:
    shape = (128, 768, 768)
    assert choose_level("strassen", shape, 1, TARGET) == 1
    keep(chosen, AlgorithmSpec("strassen", shape, 1), {"level": 0})
    assert choose_level("strassen", shape, 1, TARGET) == 0
    assert choose_level("strassen", shape, 0, TARGET) == 0


def test_keys_of_models_cover_the_choices(
    chosen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "10")
    model = tmp_path / "model.onnx"
    model.write_bytes(b"any")

    def key() -> str:
        source = find_source(model, CompileOptions())
        assert source is not None
        return source.key

    before = key()
    keep(chosen, SPEC, OTHER)
    after = key()
    assert before != after
    keep(chosen, SPEC, OWN)
    assert key() not in (before, after)
    chosen.unlink()
    assert key() == before


def test_families_are_those_of_the_dialect() -> None:
    known = {attribute.KIND for attribute in CONFIGS if attribute is not PanelsAttr}
    kinds = {family.config for family in FAMILIES.values()}
    assert known <= kinds
    names = {kind.__name__ for kind in GENERATORS}
    assert FAMILIES.keys() - names == {"SparseConv2dSpec"}
    assert names <= FAMILIES.keys()


@pytest.fixture(scope="module")
def specs() -> list[Any]:
    """What compiling a network with each family asks for."""
    found: dict[str, Any] = {}
    with choices.watching(lambda spec, _: found.setdefault(spec_text(spec), spec)):
        lower_to(load(network()), "lowered")
    return list(found.values())


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_search_tries_every_tile_of_the_usual_winograd_blocks(lanes: int) -> None:
    """And blocks of other sizes between them, within the candidates that it looks at."""
    target = PRESETS[{4: "neon", 8: "avx2", 16: "avx512"}[lanes]]
    plane, pads = (56, 1), (0, 0, 0, 0)
    spec = WinogradSpec(1, 300, 100, plane, pads, 4, 5, lanes=lanes, axes=(0,))
    first, *others = candidates(spec, target)[:MOST]
    alike = [each for each in others if each.fused == first.fused]
    tiles = {each.blocks for each in (first, *alike)}
    assert tiles == set(range(1, min(6, -(-100 // lanes)) + 1))
    assert len({each.block_rows for each in others}) > 2


def test_the_first_tiles_of_a_convolution_have_other_blocks_of_channels() -> None:
    spec = Conv2dSpec(1, 64, 512, Window((14, 14), (1, 1)), lanes=16)
    first, *others = candidates(spec, TARGET)[: UNLIKE + 2]
    tiles = {config.blocks for config in (first, *others[:UNLIKE])}
    assert len(tiles) == UNLIKE + 1
    assert others[UNLIKE] == replace(first, segments=1)


def test_the_first_tiles_of_planes_cover_rows_in_equal_parts() -> None:
    spec = BlockedPlanes(1, 64, Window((14, 14), (3, 3), pads=(1, 1, 1, 1)))
    low, high = spec.window.interior(1)
    remainders = [(high - low) % config.pixels for config in candidates(spec, TARGET)]
    assert not any(remainders[:UNLIKE])
    assert any(remainders)


def test_no_candidate_of_planes_is_built_twice() -> None:
    spec = BlockedPlanes(1, 64, Window((14, 14), (3, 3), pads=(1, 1, 1, 1)))
    configs = candidates(spec, TARGET)
    texts = set[str]()
    for config in configs:
        ((kernel, _),) = BUILDERS[BlockedPlanes](replace(spec, config=config), TARGET)
        texts.add("\n".join(map(str, kernel.function.body.block.ops)))
    assert len(texts) == len(configs)


def test_winograd_blocks_are_tried_in_the_order_of_cycles_with_misses() -> None:
    """By cycles without them, three phases come first and take twice as long."""
    plane, pads = (115, 115), (0, 0, 0, 0)
    spec = WinogradSpec(1, 12, 64, plane, pads, 3, 4, lanes=16)
    first, *others = candidates(spec, TARGET)
    assert first.fused
    assert all(config.fused for config in others[:UNLIKE])


def test_configurations_survive_json(specs: list[Any]) -> None:
    for spec in specs:
        for config in candidates(spec, host_target())[:3]:
            fields = json.loads(json.dumps(asdict(config)))
            assert config_from(type(config), fields) == config


def test_other_candidates_give_the_same_bits(specs: list[Any]) -> None:
    """One candidate of each kernel: its weights are packed for it, too."""
    configs = {}
    for spec in specs:
        every = candidates(spec, host_target())
        if not isinstance(spec, AlgorithmSpec) and len(every) > 1:
            configs[kernel_key(spec_text(spec))] = asdict(every[len(every) // 2])
    assert len(configs) >= 8
    inputs, asked = make_inputs(), []
    expected = glow.compile(network()).run(inputs)
    with choices.using(configs), choices.watching(lambda *both: asked.append(both)):
        result = glow.compile(network()).run(inputs)
    by_key = {kernel_key(spec_text(spec)): asdict(config) for spec, config in asked}
    assert configs.items() <= by_key.items()
    for name, array in expected.items():
        np.testing.assert_array_equal(result[name], array, err_msg=name)
