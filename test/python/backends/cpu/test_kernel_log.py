"""The log of kernels: what it says is what was built, and all who show it agree."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import onnx
import pytest
from places import ROOT
from support.programs.pipelines import run_text
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from benchmarks.networks import NETWORKS, TINY_NETWORKS
from glow import quantization
from glow.backends.cpu.program.kernel_table import kernel_table
from glow.backends.cpu.report.algorithms import ALGORITHMS, WINOGRAD, table
from glow.backends.cpu.report.choices import DESCRIBED
from glow.backends.cpu.report.kernel_log import KERNELS, kernel_log, log_lines
from glow.compiler import load, lower_to
from glow.dialects.node import node_name
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.passes.rewriting.trace import Trace
from glow.quantization import apply_quantization
from glow.signature import main_function
from glow.tools.compile_command import compile_model
from glow.tools.report.page import Subject, report_page

DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples" / "digits"
TARGET = Target.from_string("avx512")
KERNEL_TABLE = kernel_table("cpu")


def planned(name: str, numerics: str = "default") -> ModuleOp:
    """Returns the planned instructions of a network."""
    networks = {
        **NETWORKS,
        **{f"tiny {n}": build for n, build in TINY_NETWORKS.items()},
    }
    module = load(networks[name]().SerializeToString())
    lower_to(module, "instr", target="avx512", numerics=numerics)
    return module


@pytest.fixture(scope="module")
def squeezenet() -> ModuleOp:
    return planned("squeezenet")


def test_page_has_the_table_of_the_code() -> None:
    assert "\n".join(table()) in (DOCS / "numerics.md").read_text(encoding="utf-8")


def test_bounds_are_no_smaller_than_what_was_measured() -> None:
    for row in ALGORITHMS:
        assert row.measured < row.bound <= row.wide_bound
    assert len({row.name for row in ALGORITHMS}) == len(ALGORITHMS)


def test_lines_name_algorithm_tile_order_work_weights_and_error(
    squeezenet: ModuleOp,
) -> None:
    lines = list(log_lines(main_function(squeezenet), TARGET, KERNEL_TABLE))
    convolutions = [line for line in lines if ": conv2d: " in line]
    pattern = re.compile(
        r"n\d+: conv2d: direct sums; \d+ pixels x \d+ registers.*; "
        r"(?:rows|channel tiles, then rows|rows, all channel tiles of each); [\d,]+ work items; "
        r"[\d,]+ bytes of weights; error 4e-06"
    )
    assert convolutions
    assert [line for line in convolutions if not pattern.fullmatch(line)] == []
    winograd = [line for line in lines if "winograd_fused" in line]
    assert winograd
    assert all(
        WINOGRAD[4, 3].name in line and "error 5e-06" in line for line in winograd
    )
    guard = "tiles with pixels 2^6 times as large, infinity or NaN"
    assert all(
        line.endswith(f"; falls back to direct sums of {guard}") for line in winograd
    )
    fallbacks = [line for line in lines if ": winograd_direct: " in line]
    phased = [line for line in lines if ": winograd_products: " in line]
    assert len(fallbacks) == len(winograd) + len(phased)
    assert all(f"direct sums, only of {guard}; " in line for line in fallbacks)


def test_products_tell_what_they_fall_back_to() -> None:
    kernels = kernel_log(
        main_function(planned("minilm")), TARGET, KERNEL_TABLE
    ).values()
    strassen = [e for found in kernels for e in found if e.label == "strassen"]
    assert strassen
    for entry in strassen:
        wanted = r"direct sums of [24] rows that share sums with an infinity or NaN"
        assert re.fullmatch(wanted, entry.choice.fallback)


@pytest.mark.parametrize("name", ["digits", "depthwise"])
def test_integer_kernels_have_tiles(name: str) -> None:
    model = onnx.load(DOCS.parent / "examples" / "digits" / f"{name}.onnx")
    module = load(model)
    lower_to(module, "instr", target="avx512", quantize=True)
    entries = kernel_log(main_function(module), TARGET, KERNEL_TABLE).values()
    kernels = [e for found in entries for e in found if e.label.startswith("int8_")]
    products = [kernel for kernel in kernels if kernel.weight_bytes]
    assert len(products) > 5
    for entry in products:
        assert re.match(r"\d+ (pixels|rows) x \d registers", entry.choice.tile)
        assert entry.choice.order
        assert entry.choice.error == 0


def test_exact_numerics_have_direct_sums_alone() -> None:
    lines = list(
        log_lines(main_function(planned("squeezenet", "exact")), TARGET, KERNEL_TABLE)
    )
    assert not [line for line in lines if "Winograd" in line or "falls back" in line]
    assert [line for line in lines if "direct sums" in line]


@pytest.mark.parametrize("name", TINY_NETWORKS)
def test_every_sum_of_products_is_described(name: str) -> None:
    entries = kernel_log(main_function(planned(f"tiny {name}")), TARGET, KERNEL_TABLE)
    labels = {e.label: e.choice for found in entries.values() for e in found}
    for label in labels.keys() & {
        "conv2d",
        "depthwise",
        "matmul",
        "attention",
        "strassen",
    }:
        assert labels[label].error is not None
    assert all(entry.work_items > 0 for found in entries.values() for entry in found)
    assert len(DESCRIBED) > 10


def test_attributes_are_the_log(squeezenet: ModuleOp) -> None:
    module = squeezenet.clone()
    run_text(module, "record-kernels{target=avx512}")
    entries = kernel_log(main_function(squeezenet), TARGET, KERNEL_TABLE)
    recorded = [op for op in module.walk() if KERNELS in op.attributes]
    assert len(recorded) == len(entries)
    for op, found in zip(recorded, entries.values(), strict=True):
        attribute = op.attributes[KERNELS]
        assert isinstance(attribute, ArrayAttr)
        assert list(attribute) == [entry.attribute() for entry in found]
        first = attribute.data[0]
        assert isinstance(first, DictionaryAttr)
        assert first.data["kernel"] == StringAttr(found[0].label)


def test_report_shows_the_log(squeezenet: ModuleOp) -> None:
    kernels = kernel_log(main_function(squeezenet), TARGET, KERNEL_TABLE)
    page = report_page(Subject("n", (), squeezenet, {}, kernels, Trace()))
    for op, found in kernels.items():
        assert node_name(op) is None or f"<td>{node_name(op)}" in page
        for entry in found:
            assert entry.choice.algorithm in page
            assert entry.choice.fallback in page


def test_verbose_compilation_tells_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "small.mlir"
    options = CompileOptions(target="avx512")
    compile_model(DOCS / "small.mlir", "graph", output, options, verbose=True)
    module = load(DOCS / "small.mlir")
    lower_to(module, "instr", target="avx512")
    expected = list(log_lines(main_function(module), TARGET, KERNEL_TABLE))
    assert expected
    assert capsys.readouterr().err.splitlines() == expected
    assert output.exists()


@pytest.mark.parametrize("phase", ["graph", "lowered", "instr", "llvm"])
def test_verbose_compilation_is_no_other(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is quantized once, and the phase has the same result."""
    calls = []

    def counted(*arguments: object) -> None:
        calls.append(arguments)
        apply_quantization(*arguments)

    monkeypatch.setattr(quantization, "apply_quantization", counted)
    options = CompileOptions(target="avx512", quantize=True, numerics="exact")
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for verbose in (False, True):
            text = tmp_path / "program.mlir"
            compile_model(EXAMPLES / "mlp.onnx", phase, text, options, verbose=verbose)
            texts.append(text.read_bytes())
    assert len(calls) == 2
    assert texts[0] == texts[1]


def test_verbose_compilation_of_a_later_level(tmp_path: Path) -> None:
    """A program that is past the phase stays as it is."""
    lowered, texts = tmp_path / "lowered.mlir", []
    compile_model(DOCS / "small.mlir", "lowered", lowered, CompileOptions())
    for verbose in (False, True):
        text = tmp_path / "again.mlir"
        compile_model(lowered, "graph", text, CompileOptions(), verbose=verbose)
        texts.append(text.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
