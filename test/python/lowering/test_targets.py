"""Descriptions of machines: names, features, and code for each that runs here."""

from __future__ import annotations

import numpy as np
import pytest
from places import ROOT

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.lowering.target.target import (
    CPUS,
    PRESETS,
    Target,
    host_target,
    runnable_target,
    target_name,
)
from glow.runtime.native_code import target_machine
from glow.tools.glow import run_glow

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
    assert target.has_vnni == has_vnni


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
    assert ("vfmadd" in text) == (PRESETS[name].has_fma and name != "neon")


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


RUNNABLE = next(name for name in PRESETS if PRESETS[name].runs_on(host_target()))
