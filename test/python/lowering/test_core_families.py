"""The tables of core families: sources, CPUs, and that they decide what is chosen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.winograd.cost import choose_winograd
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.program.call_order import serial_bytes
from glow.backends.cpu.tiling.matmul_tile import Tile
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.lowering.target.core import (
    FIGURES,
    TRANSFERS_A_BARRIER,
    Core,
    Figure,
    like,
    make_core,
)
from glow.lowering.target.cores import CORE_OF_CPU, CORES
from glow.lowering.target.named_targets import CPUS
from glow.lowering.target.target import PRESETS, Target, host_core, host_target

SMALL = Path(__file__).parents[3] / "docs" / "small.mlir"

SOURCE = re.compile(
    r"https://\S+|LLVM \w+\.td\b|(AMD|Intel|Arm),? .+|AVX-512|Advanced SIMD|"
    r"the instruction set|(measured|fitted|estimated): .+|as (\S+): .+"
)
"""The kinds of sources, as `core.py` lists them."""


@pytest.mark.parametrize("core", CORES.values(), ids=CORES)
def test_every_number_has_a_source(core: Core) -> None:
    assert set(core.sources) == set(FIGURES)
    for name, source in core.sources.items():
        match = SOURCE.match(source)
        assert match, f"{core.family}: {name}: {source!r} is no source"
        other = match[3]
        assert other in {None, "any", *CORES}, f"{core.family}: {name}: {source!r}"


def test_tables_name_all_their_numbers() -> None:
    figures = {name: Figure(1, "the instruction set") for name in FIGURES}
    with pytest.raises(GlowError, match="core family new: lacks l2_bytes"):
        make_core(
            "new", "", (), **{n: f for n, f in figures.items() if n != "l2_bytes"}
        )
    with pytest.raises(GlowError, match="core family new: no such number as l4_bytes"):
        make_core("new", "", (), **figures, l4_bytes=Figure(1, "the instruction set"))
    derived = like(CORES["zen5"], "new", "", (), l1_ways=Figure(8, "Arm manual"))
    assert (derived.l1_ways, derived.l2_bytes) == (8, CORES["zen5"].l2_bytes)
    assert derived.sources["l2_bytes"].startswith("as zen5: AMD")


def test_each_cpu_has_a_core() -> None:
    assert set(CORE_OF_CPU) == set(CPUS)
    for cpu, core in CORE_OF_CPU.items():
        preset = PRESETS[CPUS[cpu]]
        assert core.vector_bytes == preset.vector_bytes, cpu
        assert core.vector_registers == preset.num_vector_registers, cpu
        assert Target.from_string(cpu).core is core


def test_the_host_has_a_core() -> None:
    host = host_target()
    expected = CORE_OF_CPU.get(host.cpu)
    if expected is not None and expected.vector_bytes == host.vector_bytes:
        assert host.core.family == expected.family


@pytest.mark.parametrize(
    ("cpu", "preset", "family"),
    [
        ("znver5", "avx512", "zen5"),
        ("znver5", "avx2", "zen5"),  # a machine that hides AVX-512
        ("graniterapids", "avx512", "generic-avx512"),
        ("znver3", "avx2", "zen3"),
        ("sierraforest", "avx2", "generic-avx2"),
        ("generic", "scalar", "generic-sse"),  # LLVM's word on any architecture
        ("generic", "neon", "generic-neon"),
        ("apple-m1", "neon", "generic-neon"),
    ],
)
def test_cpus_that_llvm_names(cpu: str, preset: str, family: str) -> None:
    core = host_core(cpu, PRESETS[preset], {})
    assert (core.family, core.vector_bytes) == (family, PRESETS[preset].vector_bytes)


def test_a_virtual_machine_that_shows_another_model() -> None:
    """Tiles tell Intel's newer servers, where no CPU of the name that LLVM finds has a table."""
    preset, features = PRESETS["avx512"], {"amx-tile": True}
    assert host_core("rocketlake", preset, features).family == "sapphire-rapids"
    assert host_core("cascadelake", preset, features).family == "skylake-x"


def test_the_fitted_core() -> None:
    """What cost models make of a Zen 5's numbers: with these all kernels were tuned on one."""
    core = CORES["zen5"]
    assert (core.fma_per_cycle, core.loads_per_cycle, core.stores_per_cycle) == (
        2,
        2,
        1,
    )
    assert (core.chains, core.move_cycles, core.pass_cycles) == (8, 1.5, 5)
    rates = core.sustained_l2_bytes_per_cycle, core.far_bytes_per_cycle
    assert rates == (32, 8)
    assert (core.balance, core.barrier_cycles) == (12.8, 4000)
    assert core.memory_bytes_per_cycle / core.cross_core_bytes_per_cycle == 4
    assert (core.l1_set_distance, core.l3_share) == (4096, 4 * 2**20)


@pytest.mark.parametrize("core", CORES.values(), ids=lambda core: core.family)
def test_several_cores_read_no_faster_than_one(core: Core) -> None:
    """And a barrier follows the latencies of its own table, not of that which it is like."""
    assert core.contended_memory_bytes_per_cycle <= core.memory_bytes_per_cycle
    assert core.contended_l3_bytes_per_cycle <= core.l3_bytes_per_cycle
    if "estimated:" in core.sources["barrier_cycles"]:
        assert core.barrier_cycles == TRANSFERS_A_BARRIER * core.cross_core_latency


def test_rates_follow_the_width_of_vectors() -> None:
    """A Zen 4 computes 64 bytes in halves; its table is of its pipes."""
    zen4, zen5 = (Target.from_string(name) for name in ("znver4", "znver5"))
    assert (zen4.core.fma_per_cycle, zen5.core.fma_per_cycle) == (1, 2)
    assert (zen4.core.stores_per_cycle, zen5.core.stores_per_cycle) == (0.5, 1)
    narrow = zen4.changed({"avx512f": False})
    assert (narrow.vector_bytes, narrow.core.fma_per_cycle) == (32, 2)


def test_latency_decides_how_many_sums_are_under_way() -> None:
    """Few rows need several sums for each result: latency times what begins in a cycle.

    A Zen 2 adds a cycle later than a Zen 3, a V1 has four pipes, an A72 one for 16 bytes and
    late forwarding.
    """
    expected = {
        "znver5": 8, "znver4": 4, "znver3": 8, "znver2": 10, "neoverse-n1": 4,
        "neoverse-v1": 8, "cortex-a72": 3,
    }  # fmt: skip
    unrolls = {cpu: Tile(1, 1).unroll(CORE_OF_CPU[cpu]) for cpu in expected}
    assert unrolls == expected


def test_memory_decides_about_winograd() -> None:
    """512 channels of 7 x 7: F(2 x 2) reads 1.8 times the weights for 0.44 of the products.

    A Zen 5 reads 10 bytes a cycle from memory, so that the products decide. A core of
    Skylake-SP reads 3.5: the direct convolution already waits for its weights.
    """
    spec = WinogradSpec(1, 512, 512, (7, 7))
    chosen = choose_winograd(spec, Target.from_string("znver5"))
    assert chosen is not None
    assert chosen.tile == 2
    assert choose_winograd(spec, Target.from_string("cascadelake")) is None
    faster = Target.from_string("cascadelake").with_core(
        contended_memory_bytes_per_cycle=10
    )
    assert choose_winograd(spec, faster) is not None
    narrow = Target.from_string("znver5").with_core(contended_memory_bytes_per_cycle=2)
    assert choose_winograd(spec, narrow) is None


def test_distance_of_cores_decides_how_products_are_shared() -> None:
    """Where cores are far, a thread rather reads all weights than what another one wrote.

    The cores of a mesh are as near to each other as their cache is; those of a Zen 5 that
    do not share one are five times as far.
    """
    product = MatmulSpec(128, 768, 768)
    assert product.is_cut_by_rows(Target.from_string("znver5"))
    assert not product.is_cut_by_rows(Target.from_string("cascadelake"))
    near = Target.from_string("znver5").with_core(split_l3_latency=140)
    assert not product.is_cut_by_rows(near)
    slow = Target.from_string("znver5").with_core(contended_memory_bytes_per_cycle=4)
    assert not product.is_cut_by_rows(slow)


def test_barriers_decide_what_is_shared() -> None:
    """A kernel is worth a barrier from some bytes on; on a mesh a barrier costs less."""
    sizes = [serial_bytes(CORES[name]) for name in ("zen5", "skylake-x")]
    assert sizes == [16 * 1024, 4 * 1024]


def test_ways_bound_the_height_of_tiles() -> None:
    """Rows a power of two apart share a set: ten fit into twelve ways, and eight into eight."""
    heights = [
        MatmulSpec(40, 16, 4096).tile(Target.from_string(cpu)).rows
        for cpu in ("znver5", "znver4")
    ]
    assert heights == [10, 8]


def test_text_of_another_family_is_refused() -> None:
    """Same instructions and caches, another family: other tiles, so other weights."""
    module = load(SMALL)
    lower_to(module, "lowered", target="x86-64-v4_with-avx512vnni")
    message = r"\(core generic-avx512\), not for cascadelake \(core skylake-x\)"
    with pytest.raises(GlowError, match=message):
        lower_to(module, "asm", target="cascadelake")


def test_targets_differ_by_their_cores() -> None:
    target = Target.from_string("znver5")
    other = target.with_core(l3_bytes=1)
    assert other != target
    assert replace(other, core=target.core) == target
