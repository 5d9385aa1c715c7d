"""Every pass of the graph level keeps the bits of quantized programs.

The programs are those of the lit suites that hold quantized elements, and what `quantize`
makes of the graph passes' own inputs: so each rewrite meets the quantized variant of what
it looks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from places import TESTS
from support.programs import validation
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.canonicalization import Simplify
from glow.dialects.quantized import any_quantized, parameters_of
from glow.dialects.weights import (
    clone_module,
    constant_value,
    stored_value,
    weights_of,
)
from glow.frontends.mlir import parse_text
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.quantization import PASSES as QUANTIZATION_PASSES
from glow.passes.quantization.quantize import quantize_module
from glow.passes.rewriting.contract import GRAPH, MEANING, preserved_by
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.verification import verify_module

SUITES = TESTS
CHECK = "assert-all-quantized"
OTHERS = ("canonicalize", "cse", "dce", "lower-nodes", "lower-nodes{backend=none}")


def passes() -> dict[str, ModulePass]:
    """All passes of the graph level that keep what a program computes."""
    names = [*GRAPH_PASSES, *QUANTIZATION_PASSES, *OTHERS]
    made = {
        name: found
        for name in names
        for found in validation.passes_of(["glow-opt", f"--passes={name}"])
    }
    return {
        name: found
        for name, found in made.items()
        if preserved_by(found) != MEANING and name != CHECK
    }


PASSES = passes()


def programs(path: Path) -> Iterator[ModuleOp]:
    """The functions of a lit test's valid graphs, each as a module of its own."""
    for chunk in path.read_text().split("// -----"):
        try:
            module = parse_text(validation.context(), chunk, path.name)
            verify_module(module)
        except GlowError:
            continue
        if GRAPH.broken(module) is not None:
            continue
        validation.add_missing_weights(module)
        functions = [op for op in module.ops if isinstance(op, FuncOp)]
        for number, function in enumerate(functions):
            if not function.is_declaration:
                yield only_function(module, number)


def only_function(module: ModuleOp, wanted: int) -> ModuleOp:
    """A copy of a module without its other functions."""
    copy = clone_module(module)
    functions = [op for op in copy.ops if isinstance(op, FuncOp)]
    for number, function in enumerate(functions):
        if number != wanted:
            function.detach()
            function.erase()
    return copy


def is_quantized(module: ModuleOp) -> bool:
    """Whether a program computes on quantized elements."""
    return any(any_quantized(op.result_types) for op in module.walk())


def quantized(module: ModuleOp) -> ModuleOp | None:
    """A quantized copy of a program of floats; None where there is nothing to quantize."""
    if is_quantized(module):
        return None
    copy = clone_module(module)
    try:
        quantize_module(copy)
    except GlowError:
        return None
    return copy if is_quantized(copy) else None


def are_same(module: ModuleOp, copy: ModuleOp) -> bool:
    """Whether a pass has left a copy as it was: most have nothing to do in a program."""
    weights, kept = weights_of(module), weights_of(copy)
    return (
        weights.keys() == kept.keys()
        and all(kept.entry(name) is weights.entry(name) for name in weights)
        and module.body.is_structurally_equivalent(copy.body)
    )


def check_passes(module: ModuleOp, where: str) -> None:
    """Fail unless each pass by itself keeps what the program computes."""
    report = validation.Report()
    before = validation.Validator(module, where, report)
    expected, unchanged = before.results(), clone_module(module)
    for name, compiler_pass in PASSES.items():
        copy = unchanged
        try:
            compiler_pass.apply(validation.context(), copy)
            if are_same(module, copy):
                continue
            unchanged = clone_module(module)
            verify_module(copy)
        except Exception as error:
            raise AssertionError(f"{where}: {name}: {error}") from error
        after = validation.Validator(copy, where, report)
        after.inputs = before.inputs
        before.compare(compiler_pass, after.results(), expected)
    assert not report.wrong


FILES = sorted(
    path
    for path in SUITES.rglob("*.mlir")
    if not {"inputs", "Output", "upstream"} & set(path.parts)
    and not path.stem.endswith("_invalid")
    and "!quant.uniform" in path.read_text()
)
GRAPHS = sorted((SUITES / "graph").glob("*.mlir"))


MATRIX = "tensor<2x2x!quant.uniform<u8:f32, {}>>"
PRODUCT = f"""
func.func @main(%x: {MATRIX.format("0.5:3")}) -> {MATRIX.format("0.75")} {{
  %y = glow.matmul %x, %x : {MATRIX.format("0.75")}
  func.return %y : {MATRIX.format("0.75")}
}}"""


def product() -> glow.MatmulOp:
    """The product of a small program."""
    module = parse_text(validation.context(), PRODUCT, "product.mlir")
    return next(op for op in module.walk() if isinstance(op, glow.MatmulOp))


def test_no_scale_is_inferred() -> None:
    """Movement has its operand's type; what the type of a product is, nobody knows."""
    op = product()
    moved = NodeBuilder(op).transpose(op.lhs, [1, 0])
    assert moved.type == op.lhs.type
    with pytest.raises(VerifyException, match=r"glow.matmul .* must be given"):
        NodeBuilder(op).node(glow.MatmulOp, op.lhs, op.rhs)


def test_no_value_is_replaced_by_another_type() -> None:
    op = product()
    with pytest.raises(TypeError, match="cannot replace one of"):
        NodeBuilder(op).replace(op.lhs)


def test_no_pattern_changes_a_type() -> None:
    op = product()
    with pytest.raises(TypeError, match="another type"):
        Simplify([lambda op: op.inputs[0]]).match_and_rewrite(op, PatternRewriter(op))


def test_stored_integers_are_no_numbers() -> None:
    op = product()
    data = parameters_of(op.lhs.type)
    stored = np.array([[1, 2], [3, 4]], np.uint8)
    constant = NodeBuilder(op).quantized_constant(stored, data, "c")
    assert constant_value(constant) is None
    np.testing.assert_array_equal(stored_value(constant), stored)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_quantized_inputs(path: Path) -> None:
    for module in programs(path):
        if is_quantized(module):
            check_passes(module, path.name)


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_graph_inputs_quantized(path: Path) -> None:
    for module in programs(path):
        copy = quantized(module)
        if copy is not None:
            check_passes(copy, path.name)
