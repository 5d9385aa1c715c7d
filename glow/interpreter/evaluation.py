"""Evaluates single operations: the table of all node functions, and scalar regions.

A node function computes in whatever type is accurate; its results are rounded to the
types of the operation's results in one place here. Those of training and of other nodes that
few networks have are loaded when a network has one (`THEMES`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp, NodeOp, node_name
from glow.interpreter import (
    attention,
    convolution,
    indexing,
    matmul,
    normalization,
    quantized,
    recurrent,
    scalar_functions,
    shape,
    spatial_convolution,
    storage,
)
from glow.interpreter.array_functions import convert
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import (
    SCALARS,
    Function,
    element_dtype,
    result_dtype,
)


def rounded_elements(array: Any, result_type: Attribute) -> Array:
    """The array with the elements of a type."""
    dtype = element_dtype(result_type)
    array = np.asarray(array)
    if array.dtype != dtype:
        array = convert(array, dtype) if dtype.kind in "iu" else array.astype(dtype)
    return array


def rounded(array: Any, result_type: Attribute) -> Array:
    """The array with the elements and the shape of a tensor, memref or scalar type."""
    array = rounded_elements(array, result_type)
    if isinstance(result_type, ShapedType):
        shape = result_type.get_shape()
        if array.shape != shape:
            array = np.broadcast_to(array, shape)
    return array


def evaluate_scalar(op: Operation, operands: Sequence[Array]) -> Array:
    """The result of an `arith` or `math` operation on whole arrays."""
    function = SCALARS.get(type(op))
    if function is None:
        raise GlowError(f"the interpreter does not know {op.name}", node=node_name(op))
    result = np.asarray(function(op, *operands))
    return result.astype(result_dtype(op), copy=False)


def evaluate_region(block: Block, arguments: Iterable[Array]) -> list[Array]:
    """The values that a scalar region yields, evaluated on whole arrays at once."""
    values: dict[SSAValue, Array] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, glow.YieldOp):
            return operands
        values[op.results[0]] = evaluate_scalar(op, operands)
    return []


def run_fused(op: Operation, *operands: Array) -> tuple[Array, ...]:
    """`glow.fused`."""
    return tuple(evaluate_region(op.regions[0].block, operands))


THEMES: Mapping[str, Sequence[type[Operation]]] = {
    "training.layers": (
        glow.BatchNormTrainingOp,
        glow.RandomUniformOp,
        glow.DropoutOp,
    ),
    "training.loss": (
        glow.MseLossOp,
        glow.L1LossOp,
        glow.HuberLossOp,
        glow.BceWithLogitsOp,
        glow.KlDivOp,
        glow.NllLossOp,
        glow.CrossEntropyOp,
    ),
    "training.optimizers": (
        glow.SgdOp,
        glow.AdamOp,
        glow.RmspropOp,
        glow.AdagradOp,
        glow.LambOp,
    ),
    "fake_quantization": (glow.FakeQuantizeOp,),
    "sampling": (glow.SampleOp,),
    "segments": (glow.LengthsSumOp, glow.LengthsMaxOp),
}
"""The nodes whose functions are loaded late, by the module that has them as `NODES`."""


def loaded_late(theme: str, node: type[Operation]) -> Function:
    """A node's function, which is looked up in the module of its theme when it is called.

    It is called with the node's instruction, too.
    """

    def function(op: Operation, *operands: Any) -> Any:
        module = import_module(f"glow.interpreter.{theme}")
        return module.NODES[node](op, *operands)

    return function


FUNCTIONS: dict[type[Operation], Function] = {
    **storage.NODES,
    **scalar_functions.NODES,
    glow.FusedOp: run_fused,
    **convolution.NODES,
    **spatial_convolution.NODES,
    **matmul.NODES,
    **normalization.NODES,
    **shape.NODES,
    **indexing.NODES,
    **recurrent.NODES,
    **attention.NODES,
    **quantized.NODES,
    **{
        node: loaded_late(theme, node)
        for theme, nodes in THEMES.items()
        for node in nodes
    },
}
"""The reference semantics of each node: `function(op, *operands)`."""


def call(op: Operation, function: Function, operands: Sequence[Any]) -> list[Any]:
    """The unrounded results of an operation; errors name the node."""
    try:
        with np.errstate(all="ignore"):
            results = function(op, *operands)
    except GlowError as error:
        raise GlowError(error.message, node=node_name(op), hint=error.hint) from None
    return (
        [*cast("tuple[Any, ...]", results)] if isinstance(results, tuple) else [results]
    )


def evaluate_node(
    op: Operation,
    operands: Sequence[Array],
    functions: Mapping[type[Operation], Function] = FUNCTIONS,
) -> list[Array]:
    """The results of a node for operand values; a predicate may be left out.

    Results may be read-only views. Raises GlowError, which names the node.
    """
    results = _unrounded(op, operands, functions)
    with np.errstate(all="ignore"):
        return [
            rounded(result, result_type)
            for result, result_type in zip(results, op.result_types, strict=True)
        ]


def evaluate_elements(op: Operation, operands: Sequence[Array]) -> Array:
    """The result of an elementwise node for arrays of any shape, whatever that of its type."""
    (result,) = _unrounded(op, operands, FUNCTIONS)
    with np.errstate(all="ignore"):
        return rounded_elements(result, op.result_types[0])


def _unrounded(
    op: Operation,
    operands: Sequence[Array],
    functions: Mapping[type[Operation], Function],
) -> list[Any]:
    function = functions.get(type(op))
    if function is None:
        raise GlowError(f"the interpreter does not know {op.name}", node=node_name(op))
    if isinstance(op, NodeOp) and quantized.has_quantized_elements(op):
        function = quantized.INTEGER_FORMS.get(type(op), function)
    if isinstance(op, GlowOp) and getattr(op, "predicate", None) is not None:
        operands = operands[: len(op.operands) - 1]
    return call(op, function, operands)
