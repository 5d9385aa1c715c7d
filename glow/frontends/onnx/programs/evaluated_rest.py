"""What stands behind a value that a call has computed, evaluated node by node.

A detector finds other numbers of boxes in each image, and a program for each is compiled once
and used once. What follows the boxes are small nodes: here they are computed as constants are
at import, by the interpreter. What has products or loops is left to the compiler.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from glow.dialects.weight_table import Array
from glow.frontends.onnx.folding import EvaluatingGraph
from glow.frontends.onnx.frame import Frame, used_names
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.importer import Importer
from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.messages import ModelProto, NodeProto
from glow.frontends.onnx.programs.starts import Start
from glow.frontends.onnx.registry import DEFAULT_DOMAINS

COMPILED = frozenset(
    """
    Attention Conv ConvInteger ConvTranspose DFT DeformConv Det Einsum GRU Gemm GridSample
    Inverse LSTM Loop MatMul MatMulInteger QLinearConv QLinearMatMul RNN STFT Scan SequenceMap
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


def evaluate_rest(
    model: str | os.PathLike[str] | bytes | ModelProto,
    end: Start,
    values: Mapping[str, Array],
) -> dict[str, Array] | None:
    """The outputs of a model by name, from where the last program of a call has ended.

    `values` are what there is by the caller's names. None where something has to be compiled
    after all. Raises GlowError as running the program would.
    """
    loaded = load_model(model)
    known = end.with_values({name: values[name] for name in end.types})
    nodes = loaded.proto.graph.node[known.node :]
    if known.names or known.lists or not is_evaluated(nodes):
        return None
    return _evaluated(Importer(loaded), replace(known, types={}, inner=()))


def _evaluated(importer: Importer, start: Start) -> dict[str, Array] | None:
    """The outputs of a model, all values of which are known at a start."""
    importer.new_folding_graph = EvaluatingGraph
    graph = importer.model.graph
    scope, _ = start.enter(importer.block)
    frame = Frame(scope, used_names(graph), importer.opsets)
    for node in graph.node[start.node :]:
        importer.import_nodes([node], frame)
        if not all(
            isinstance(scope.get(name), Constant) for name in node.output if name
        ):
            return None
    outputs = [scope.get(value.name) for value in graph.output]
    arrays = [value.array for value in outputs if isinstance(value, Constant)]
    if len(arrays) < len(outputs):
        return None
    names = [value.name for value in graph.output]
    own = [np.array(one, order="C") for one in arrays]  # Others are views of inputs.
    return dict(zip(names, own, strict=True))
