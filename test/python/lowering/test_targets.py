"""Descriptions of machines: names, features, and code for each that runs here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from places import ROOT

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.lowering.target.named_targets import CPUS, NAMED_TARGETS
from glow.lowering.target.target import (
    PRESETS,
    Target,
    host_target,
)
from glow.lowering.target.target_names import (
    runnable_target,
    target_name,
    without_matrix_tiles,
)
from glow.runtime.native_code import target_machine
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

SMALL = ROOT / "docs" / "small.mlir"

NARROWER = [
    name
    for name in ("avx2", "scalar")
    if PRESETS[name].runs_on(host_target())
    and PRESETS[name].vector_bytes < host_target().vector_bytes
]
"""What this machine can run besides its own code."""


@pytest.mark.parametrize("cpu", list(CPUS))
def test_cpus_are_known_to_llvm(cpu: str, capfd: pytest.CaptureFixture[str]) -> None:
    target_machine(Target.from_string(cpu))
    assert "not a recognized processor" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("cpu", "features", "vector_bytes", "has_vnni"),
    [
        ("x86-64-v4", "-avx512f", 32, False),
        ("znver5", "-fma", 16, False),
        ("haswell", "+avxvnni", 32, True),
        ("x86-64-v4", "+avx512vnni", 64, True),
        ("skylake-avx512", None, 64, False),
        ("x86-64", "+avx2,+fma", 32, False),
        ("neoverse-n1", None, 16, False),
    ],
)
def test_features_change_descriptions(
    cpu: str, features: str | None, vector_bytes: int, has_vnni: bool
) -> None:
    target = Target.from_string(target_name(cpu, features))
    assert (target.cpu, target.vector_bytes) == (cpu, vector_bytes)
    assert (target.byte_dot == "vnni") == has_vnni


def test_the_host_is_the_default() -> None:
    assert Target.from_string(target_name(None, None)) == host_target()


@pytest.mark.parametrize(
    ("cpu", "features", "message"),
    [
        ("pentium", None, "unknown target 'pentium'"),
        ("", None, "unknown target ''"),
        (None, "avx2", "feature 'avx2' has no sign"),
        (None, "+nonsense", "unknown feature 'nonsense'"),
    ],
)
def test_names_that_are_refused(
    cpu: str | None, features: str | None, message: str
) -> None:
    with pytest.raises(GlowError, match=message):
        target_name(cpu, features)


def test_code_for_other_machines_does_not_run() -> None:
    other = "x86-64" if host_target().triple.startswith("aarch64") else "neon"
    with pytest.raises(GlowError, match="this machine cannot run code"):
        runnable_target(other)


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_target_has_code(name: str) -> None:
    text = lower_to(load(SMALL), "asm", target=name)
    assert isinstance(text, str)
    assert ("zmm" in text) == (PRESETS[name].vector_bytes == 64)
    assert ("vfmadd" in text) == (PRESETS[name].fma_instruction and name != "neon")


@pytest.mark.parametrize(
    ("name", "network"),
    [
        (name, network)
        for name in NARROWER
        for network in TINY_NETWORKS
        if (name, network) != ("scalar", "mobilenet_v2")  # It takes seconds to compile.
    ],
)
def test_narrower_targets_run_here(name: str, network: str) -> None:
    model = TINY_NETWORKS[network]()
    inputs = make_inputs(model)
    expected = glow.compile(model).run(inputs)
    for output, array in glow.compile(model, target=name).run(inputs).items():
        scale = float(np.abs(expected[output]).max())
        assert float(np.abs(array - expected[output]).max()) <= 1e-4 * scale


def test_tools_take_targets(capsys: pytest.CaptureFixture[str]) -> None:
    """`-avx512f` makes other code of the same vocabulary; `run` runs what it can."""
    run_glow(["compile", str(SMALL), "--emit=asm", "--target-cpu=znver4"])
    assert "zmm" in capsys.readouterr().out
    features = "--target-features=-avx512f"
    run_glow(["compile", str(SMALL), "--emit=asm", "--target-cpu=znver4", features])
    assert "zmm" not in capsys.readouterr().out
    run_glow(["run", str(SMALL), "--target-cpu", RUNNABLE])
    assert "output" in capsys.readouterr().out


@pytest.mark.parametrize("name", list(NAMED_TARGETS))
def test_named_targets_have_code(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM knows the triple, the CPU, the features and the ABI, and makes an object."""
    assert isinstance(lower_to(load(SMALL), "obj", target=name), bytes)
    assert not capfd.readouterr().err


def test_targets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_glow(["compile", "--list-targets"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMED_TARGETS)


def test_facts_of_targets() -> None:
    m4, m0 = Target.from_string("cortex-m4"), Target.from_string("cortex-m0plus")
    assert (m4.index_bits, m4.lanes(32), m4.byte_dot) == (32, 1, "smlad")
    assert m4.fma_instruction
    assert not m4.round_instruction
    assert not m0.fma_instruction
    arm = Target.from_string("neon_with-dotprod_with-i8mm_without-i8mm")
    assert arm.byte_dot == "dotprod"


def test_triples_choose_another_abi(capsys: pytest.CaptureFixture[str]) -> None:
    soft = Target.from_string("thumbv7em-none-eabi:cortex-m4")
    named = Target.from_string("cortex-m4")
    assert soft == replace(named, triple="thumbv7em-unknown-none-eabi")
    options = ["--target-triple=thumbv7em-none-eabi", "--target-cpu=cortex-m4"]
    run_glow(["compile", str(SMALL), "--emit=asm", *options])
    assert ".cpu\tcortex-m4" in capsys.readouterr().out
    run_glow_opt([str(SMALL), "-t", "asm", *options])
    assert ".cpu\tcortex-m4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target=cortex-m5"],
            "unknown target 'cortex-m5'; did you mean 'cortex-m55'",
        ),
        (["--target=neon", "--target-cpu=neon"], "two names of a machine"),
        (["--target-triple=z80-none"], "no target is of the triple 'z80-none'"),
        (
            ["--target=riscv64", "--target-triple=thumbv7m-none-eabi"],
            "'riscv64' is no CPU of the triple",
        ),
    ],
)
def test_targets_that_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(GlowError, match=message):
        run_glow(["compile", str(SMALL), "--emit=asm", *options])


RUNNABLE = next(name for name in PRESETS if PRESETS[name].runs_on(host_target()))


def test_matrix_tiles_need_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the machine is one without tiles, whatever it could do."""
    monkeypatch.setattr("glow.lowering.target.target.has_tiles", lambda: False)
    refused = host_target.__wrapped__()
    assert not refused.has_int8_tiles
    assert not refused.has_bf16_tiles
    assert "+amx" not in refused.features
    assert not Target.from_string("sapphirerapids").runs_on(refused)


def test_targets_without_matrix_tiles() -> None:
    whole = Target.from_string("sapphirerapids")
    assert whole.has_int8_tiles
    assert whole.has_bf16_tiles
    narrow = Target.from_string("sapphirerapids_without-avx512f")
    assert not narrow.has_int8_tiles
    assert not narrow.has_bf16_tiles
    name = without_matrix_tiles("sapphirerapids")
    assert name == "sapphirerapids_without-amx-tile"
    assert not Target.from_string(name).has_int8_tiles
    assert without_matrix_tiles("avx2") == "avx2"
