"""Compares what a backend makes of one node with the function that says what it means.

    check_node("npu", DenseReluOp, [(2, 128), (128, 4), (4,)])

For packages with nodes of their own, whose tests call it: text, instruction, interpretation and
native code of a node follow from its class and one NumPy function, and this compares them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.backend import get_backend
from glow.backends.pipeline import GRAPH, INSTR, LOWERED
from glow.compiler import run_passes
from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.options import CompileOptions
from glow.signature import main_function, program_of
from glow.universe import new_context
from glow.verification import verify_module


def check_node(
    backend: str,
    node: type[NodeOp],
    operands: Sequence[Sequence[int] | TensorType[Attribute]],
    tolerance: float = 1e-5,
    **attributes: AttributeValue,
) -> None:
    """Raise GlowError where text, a level or code of a node gives something else.

    `operands` are shapes of f32 tensors, or types. Values are random, integers from 0 to 3.
    What the node's function computes of them counts; the `tolerance` is a share of the largest
    result.
    """
    options = CompileOptions(backend=backend)
    asked = get_backend(backend)
    types = [
        one if isinstance(one, TensorType) else tensor_type(one, f32)
        for one in operands
    ]
    module = program_of(node, types, attributes)
    verify_module(module)
    _check_text(node, module)
    inputs = _random_inputs(module)
    expected = run(module, inputs)
    pipeline = asked.pipeline(options)
    for phase in pipeline:
        if phase.name == GRAPH:
            continue
        run_passes(module, phase.passes)
        if phase.name in (LOWERED, INSTR):
            found = run(module, inputs)
            _compare(
                f"{node.name} at the level {phase.name}", found, expected, tolerance
            )
        if phase.name == pipeline.compile_from:
            break
    found = asked.compile(module, options).run(inputs)
    what = f"{node.name} compiled by backend '{backend}'"
    _compare(what, found, expected, tolerance)


def _check_text(node: type[NodeOp], module: ModuleOp) -> None:
    """Raise GlowError where the text of a node is not what is read of it."""
    text = str(module)
    again = str(parse_text(new_context(), text.encode(), node.name))
    if again != text:
        raise GlowError(f"{node.name} is printed, read and printed as something else")


def _random_inputs(module: ModuleOp) -> list[Array]:
    """A value for each argument of the only function."""
    random = np.random.default_rng(0)
    arguments = main_function(module).body.block.args
    return [_random(value, random) for value in arguments]


def _random(value: SSAValue, random: np.random.Generator) -> Array:
    held = cast("TensorType[Attribute]", value.type)
    dtype, shape = dtype_of(held.element_type), shape_of(value)
    if dtype.kind in "biu":
        return random.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _compare(
    what: str, found: Sequence[Array], expected: Sequence[Array], tolerance: float
) -> None:
    """Raise GlowError where results are not those that a node's function has."""
    for number, (one, wanted) in enumerate(zip(found, expected, strict=True)):
        name = f"{what} gives result {number}"
        if one.shape != wanted.shape or one.dtype != wanted.dtype:
            raise GlowError(
                f"{name} as {one.dtype}{list(one.shape)}, its function as "
                f"{wanted.dtype}{list(wanted.shape)}"
            )
        wide, exact = one.astype(np.float64), wanted.astype(np.float64)
        allowed = tolerance * float(np.max(np.abs(exact), initial=0.0))
        error = float(np.max(np.abs(wide - exact), initial=0.0))
        if not error <= allowed:
            raise GlowError(
                f"{name} {error:.3g} off its function, of which {allowed:.3g} are allowed"
            )
