"""What stands behind a value that a call has computed, evaluated node by node.

A detector finds other numbers of boxes in each image, and a program for each is compiled once
and used once. What follows the boxes are small nodes: here they are computed as constants are
at import, by the interpreter. Products by weights among them are compiled for some numbers of
rows (`chains.py`). What has other products is left to the compiler.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects.weight_table import Array
from glow.frontends.onnx.folding import EvaluatingGraph, Functions
from glow.frontends.onnx.frame import Frame, used_names
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.importer import Importer
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.loader import LoadedModel
from glow.frontends.onnx.messages import GraphProto, NodeProto
from glow.frontends.onnx.node import Value
from glow.frontends.onnx.programs.array_operators import array_operator
from glow.frontends.onnx.programs.chains import Chain, Runner, chain_model, chains_of
from glow.frontends.onnx.programs.starts import Start
from glow.frontends.onnx.refusal import NeedsValue, UnsupportedError
from glow.frontends.onnx.registry import DEFAULT_DOMAINS
from glow.interpreter.evaluation import FUNCTIONS

COMPILED = frozenset(
    """
    Attention Conv ConvInteger ConvTranspose DFT DeformConv Det Einsum GRU Gemm GridSample
    Inverse LSTM MatMul MatMulInteger QLinearConv QLinearMatMul RNN STFT Scan SequenceMap
    Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """.split()
)
"""The operators for whose sake a program is compiled: a generator has its state in one."""


def is_evaluated(nodes: Iterable[NodeProto]) -> bool:
    """Whether no node, nor one of a body, is worth a program."""
    for node in nodes:
        if node.op_type in COMPILED or node.domain not in DEFAULT_DOMAINS:
            return False
        bodies = [one.g for one in node.attribute if one.HasField("g")]
        if not all(is_evaluated(body.node) for body in bodies):
            return False
    return True


class RestEvaluator:
    """Evaluates the nodes of a model from where programs have ended. Calls may overlap."""

    def __init__(
        self,
        loaded: LoadedModel,
        functions: Functions = FUNCTIONS,
        given: Container[str] = (),
    ) -> None:
        """`functions` compute nodes, by class (`glow.interpreter.evaluation`).

        `given` are the inputs of calls, and those that are fixed.
        """
        self.loaded = loaded
        graph = loaded.proto.graph
        self.nodes = list(graph.node)
        self.names = used_names(graph)
        chains = chains_of(graph, self.nodes, given)
        self.chains = {chain.nodes[0]: chain for chain in chains}
        members = {index for chain in self.chains.values() for index in chain.nodes}
        compiled = (i for i, node in enumerate(self.nodes) if not is_evaluated([node]))
        self._last_compiled = max((i for i in compiled if i not in members), default=-1)
        self._importer = _EvaluatingImporter(loaded, functions)
        opset = self._importer.opsets.get("", 1)
        self._operators = [array_operator(node, opset) for node in self.nodes]
        self._constants = _constant_nodes(graph, self.nodes)
        self._known: dict[int, dict[str, Held]] = {}
        """The results of those that have been computed."""

    def model_of(
        self, chain: Chain, inputs: Iterable[tuple[Sequence[int], object]]
    ) -> LoadedModel:
        """The model of a chain for inputs of some shapes and NumPy types."""
        return chain_model(self.loaded, self.nodes, chain, inputs)

    def evaluate(
        self, end: Start, values: Mapping[str, Array], run_chain: Runner
    ) -> dict[str, Array] | None:
        """The outputs of the model by name, from where the last program of a call has ended.

        `values` are what there is by the caller's names. None where something has to be
        compiled after all. Raises GlowError as running the program would.
        """
        known = end.with_values({name: values[name] for name in end.types})
        if known.names or known.lists or not self._is_evaluated_from(known.node):
            return None
        importer = copy.copy(self._importer)
        importer.begin()
        scope, _ = replace(known, types={}, inner=()).enter(importer.block)
        frame = Frame(scope, self.names, importer.opsets)
        with np.errstate(all="ignore"):
            indices = [*known.again, *range(known.node, len(self.nodes))]
            if not self._compute_all(indices, importer, frame, run_chain):
                return None
        return _outputs(self.loaded, frame)

    def _compute_all(
        self,
        indices: Iterable[int],
        importer: _EvaluatingImporter,
        frame: Frame,
        run_chain: Runner,
    ) -> bool:
        """Whether all these nodes could be computed."""
        done: set[int] = set()
        for index in indices:
            if index in done:
                continue
            chain = self.chains.get(index)
            if index in self._known:
                frame.scope.update(self._known[index])
            elif chain is None:
                self._compute(importer, index, frame)
            elif self._run(chain, frame, run_chain):
                done.update(chain.nodes)
            else:
                return False
            if not importer.knows_all:
                return False
        return True

    def _compute(self, importer: _EvaluatingImporter, index: int, frame: Frame) -> None:
        """Compute a node, once if it reads nothing but weights and constants."""
        node, operator = self.nodes[index], self._operators[index]
        if operator is None or not operator.run(frame.scope):
            importer.import_nodes([node], frame)
        if index in self._constants and importer.knows_all:
            self._known[index] = {
                name: frame.scope[name] for name in node.output if name
            }

    def _is_evaluated_from(self, index: int) -> bool:
        """Whether nothing from a node on wants a program but whole chains."""
        return index > self._last_compiled and not any(
            chain.nodes[0] < index <= chain.nodes[-1] for chain in self.chains.values()
        )

    def _run(self, chain: Chain, frame: Frame, run_chain: Runner) -> bool:
        """Whether the output of a chain could be computed row by row."""
        held = [frame.read(name, chain.output) for name in chain.inputs]
        arrays = [value.array for value in held if isinstance(value, Constant)]
        result = run_chain(chain, arrays) if len(arrays) == len(held) else None
        if result is None:
            return False
        frame.define([chain.output], [result], chain.output)
        return True


class _EvaluatingImporter(Importer):
    """An import that computes what it imports."""

    def __init__(self, loaded: LoadedModel, functions: Functions) -> None:
        self.new_graph = partial(EvaluatingGraph, functions)
        super().__init__(loaded)

    def begin(self) -> None:
        """Nothing is computed, and everything known."""
        super().begin()
        self.graph = self.new_graph()
        self.new_folding_graph = self.new_graph
        self.knows_all = True
        """Whether each result so far is an array."""

    def _import_node(
        self, proto: NodeProto, name: str, frame: Frame
    ) -> Sequence[Value | Held]:
        """The results of one node, which a loop or a branch computes in this graph."""
        try:
            imported = super()._import_node(proto, name, frame)
        except (NeedsValue, UnsupportedError):
            self.knows_all = False
            raise
        values = [
            self.graph.array_of(value) if isinstance(value, SSAValue) else value
            for value in imported
        ]
        found = [value for value in values if value is not None]
        self.knows_all &= len(found) == len(values) and all(
            isinstance(value, Constant | np.ndarray) for value in found
        )
        return found


def _constant_nodes(graph: GraphProto, nodes: Sequence[NodeProto]) -> set[int]:
    """The nodes without bodies that compute something of weights and constants alone."""
    known = {tensor.name for tensor in graph.initializer} - {
        value.name for value in graph.input
    }
    found: set[int] = set()
    for index, node in enumerate(nodes):
        if known.issuperset(filter(None, node.input)) and not any(
            one.HasField("g") for one in node.attribute
        ):
            known.update(node.output)
            found.add(index)
    return found


def _outputs(loaded: LoadedModel, frame: Frame) -> dict[str, Array] | None:
    names = [value.name for value in loaded.proto.graph.output]
    outputs = [frame.scope.get(name) for name in names]
    arrays = [value.array for value in outputs if isinstance(value, Constant)]
    if len(arrays) < len(outputs):
        return None
    own = [np.array(one, order="C") for one in arrays]  # Others are views of inputs.
    return dict(zip(names, own, strict=True))
