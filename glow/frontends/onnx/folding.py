"""Computes nodes whose inputs are all known, so that shape computations leave no trace.

A node is imported as usual, into a graph that computes what is added to it at once, by
the interpreter: folding means what running means. Operators without a handler, which a
program cannot hold, are left to ONNX's reference evaluator where their results are not
much larger than their inputs. What exceeds the budget stays a node of the program, as
does what is quantized.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.quant import CastOp
from glow.dialects.weight_table import Array, WeightTable, element_type_of
from glow.frontends.onnx.graph import BUDGET, Constant, Graph
from glow.frontends.onnx.node import OnnxNode, Value
from glow.frontends.onnx.registry import DEFAULT_DOMAINS, Handler
from glow.interpreter import evaluate_node
from glow.interpreter.scalar_functions import Function
from glow.passes.graph.fold_constants import CHEAP, PRODUCTS, Budget

MIN_BYTES = 1 << 28
"""Bytes that may be computed at import whatever the model's size is."""

BYTES_A_WEIGHT_BYTE = 4
"""Further bytes for each byte of weights: converted, transposed, cut and joined."""

SMALL = 1 << 12
"""The largest number of elements of nodes that are not cheap. Passes fold more of them."""

FEW = 1 << 6
"""The same of products, which shapes have none of: as few passes fold at most sizes of an input."""

CONSTANT_ONLY = frozenset(
    ("OptionalHasElement",)
)  # fmt: skip
"""Operators without a handler that are computed where all inputs are known."""

Functions = Mapping[type[Operation], Function]
"""What computes nodes, by class."""


class NotFoldedError(Exception):
    """A node is too large to be computed at import, or is quantized."""


class FoldingGraph(Graph):
    """A graph whose nodes are computed as they are added."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(Block(), WeightTable())
        self.budget = budget
        self.arrays: dict[SSAValue, Array] = {}

    def array_of(self, value: SSAValue) -> Array | None:
        """The array of a value, all of which are known here."""
        return self.arrays.get(value)

    def generator(self, seed: int | None) -> SSAValue:
        """Random numbers are drawn by the program."""
        raise NotFoldedError

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Loops stay in the program."""
        raise NotFoldedError
        yield

    def place(self, op: NodeOp) -> None:
        """Compute the results of a node; NotFoldedError where they are too many."""
        limit = BUDGET if type(op) in CHEAP else SMALL
        if isinstance(op, PRODUCTS):
            limit = FEW
        if any(prod(shape_of(result)) > limit for result in op.results):
            raise NotFoldedError
        if not self.budget.spend(op):
            raise NotFoldedError
        operands = [self.arrays[value] for value in op.operands]
        if type(op) not in CHEAP and any(map(repeats_numbers, operands)):
            raise NotFoldedError
        arrays = evaluate_node(op, operands)
        self.arrays.update(zip(op.results, arrays, strict=True))

    def value_of(self, value: SSAValue | Constant) -> SSAValue:
        """A value that stands for a constant."""
        if isinstance(value, SSAValue):
            return value
        array = value.array
        value_type = tensor_type(array.shape, element_type_of(array.dtype))
        argument = self.block.insert_arg(value_type, len(self.block.args))
        self.arrays[argument] = array
        return argument

    def cast(
        self,
        op_class: type[CastOp],
        value: SSAValue | Constant,
        result_type: TensorType[Attribute],
    ) -> SSAValue:
        """Quantized values stay in the program, whose passes know them."""
        raise NotFoldedError

    def quantized_constant(
        self, constant: Constant, result_type: TensorType[Attribute]
    ) -> SSAValue:
        """Quantized values stay in the program, whose passes know them."""
        raise NotFoldedError


class EvaluatingGraph(FoldingGraph):
    """A graph that computes all of its nodes, however large they are."""

    computes = True

    def __init__(self, functions: Functions) -> None:
        super().__init__(Budget(0))
        self.functions = functions

    def set_node(self, name: str) -> None:
        """Nodes are not kept, and whoever imports them names them in errors."""

    def place(self, op: NodeOp) -> None:
        """Compute the results of a node."""
        operands = [self.arrays[value] for value in op.operands]
        arrays = evaluate_node(op, operands, self.functions)
        self.arrays.update(zip(op.results, arrays, strict=True))


def repeats_numbers(array: Array) -> bool:
    """Whether an array is large, and few numbers in memory stand for all elements."""
    return array.size > BUDGET and 0 in array.strides


def fold(
    node: OnnxNode, handler: Handler | None, new_graph: Callable[[], FoldingGraph]
) -> Sequence[Value] | None:
    """The results of a node whose inputs are all known; None to import it as usual."""
    if not node.inputs or not all(isinstance(v, Constant | None) for v in node.inputs):
        return None
    if handler is None:
        return _evaluate(node) if _is_constant_only(node) else None
    graph = new_graph()
    try:
        results = handler(node.in_graph(graph))
    except NotFoldedError:
        return None
    return [
        graph.arrays[result] if isinstance(result, SSAValue) else result
        for result in (results if isinstance(results, Sequence) else [results])
    ]


def _is_constant_only(node: OnnxNode) -> bool:
    """Whether ONNX's evaluator is to compute the node, which it does in little memory."""
    if (
        node.proto.op_type not in CONSTANT_ONLY
        or node.proto.domain not in DEFAULT_DOMAINS
    ):
        return False
    sizes = [value.array.size for value in node.inputs if isinstance(value, Constant)]
    return sum(sizes) <= BUDGET


def _evaluate(node: OnnxNode) -> list[Array] | None:
    """The results by ONNX's reference evaluator, or None where it fails."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    inputs = {
        name: value.array
        for name, value in zip(node.proto.input, node.inputs, strict=True)
        if isinstance(value, Constant)
    }
    named = [name for name in node.proto.output if name]
    given, wanted = (
        [helper.make_empty_tensor_value_info(name) for name in names]
        for names in (inputs, named)
    )
    graph = helper.make_graph([node.proto], "node", given, wanted)
    opsets = [helper.make_opsetid("", node.opset)]
    try:
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))
        found = iter(evaluator.run(None, inputs))  # pyright: ignore[reportUnknownMemberType]
        results = [next(found) if name else np.empty(0) for name in node.proto.output]
    except Exception:
        # Whatever the evaluator cannot do is reported as an operator that is unsupported.
        return None
    if all(isinstance(result, np.ndarray | np.generic) for result in results):
        return [np.asarray(result) for result in results]
    return None
