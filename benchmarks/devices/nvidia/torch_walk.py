"""An ONNX network as a PyTorch module: the walk of `benchmarks/peers/torch_graph.py`, and more.

Nothing here imports torch before a function is called, and what it has is not typed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from onnx import ModelProto, numpy_helper

PEERS = Path(__file__).parents[2] / "peers"

Emit = Callable[[list[Any], Mapping[str, Any]], Any]
"""From the operands and attributes of a node to its result."""


def the_torch() -> Any:
    """The library; raises ImportError where there is none."""
    return import_module("torch")


def with_constants(model: ModelProto) -> ModelProto:
    """A model whose constants are weights, so that a walk need not compute them."""
    found = ModelProto()
    found.CopyFrom(model)
    kept = [node for node in found.graph.node if node.op_type != "Constant"]
    for node in found.graph.node:
        if node.op_type == "Constant":
            tensor = found.graph.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
    del found.graph.node[:]
    found.graph.node.extend(kept)
    return found


def fused_attention(
    model: ModelProto,
) -> dict[str, tuple[list[str], float, str | None]]:
    """Attention that PyTorch's users call by its name: the result of the last product, with the
    queries, transposed keys and values, the scale, and what is added to the scores.
    """
    nodes = {n.output[0]: n for n in model.graph.node}
    numbers = {
        t.name: float(numpy_helper.to_array(t).reshape(-1)[0])
        for t in model.graph.initializer
        if not t.dims or list(t.dims) == [1]
    }
    found: dict[str, tuple[list[str], float, str | None]] = {}
    for last in model.graph.node:
        soft = nodes.get(last.input[0]) if last.op_type == "MatMul" else None
        if soft is None or soft.op_type != "Softmax":
            continue
        scores, mask, scale = nodes.get(soft.input[0]), None, 1.0
        if scores is not None and scores.op_type == "Add":
            mask, scores = scores.input[1], nodes.get(scores.input[0])
        if scores is not None and scores.op_type in ("Mul", "Div"):
            number = numbers.get(scores.input[1])
            if number is None:
                continue
            scale = number if scores.op_type == "Mul" else 1 / number
            scores = nodes.get(scores.input[0])
        if scores is not None and scores.op_type == "MatMul":
            operands = [*scores.input, last.input[1]]
            found[last.output[0]] = (operands, scale, mask)
    return found


def more_emitters() -> Mapping[str, Emit]:
    """What the walk of image networks lacks."""
    torch = the_torch()
    functional = torch.nn.functional

    def gather(operands: list[Any], attributes: Mapping[str, Any]) -> Any:
        x, indices = operands
        axis = attributes.get("axis", 0)
        if isinstance(indices, int):
            return x.select(axis, indices)
        if isinstance(indices, list):
            indices = torch.tensor(indices, device=x.device)
        if axis == 0:
            return functional.embedding(indices, x)
        return x.index_select(axis, indices.reshape(-1))

    def normalized(operands: list[Any], attributes: Mapping[str, Any]) -> Any:
        x, *weights = operands
        epsilon = attributes.get("epsilon", 1e-5)
        return functional.layer_norm(x, x.shape[-1:], *weights, eps=epsilon)

    return {
        "Div": lambda o, _: o[0] / o[1],
        "Erf": lambda o, _: torch.erf(o[0]),
        "Gather": gather,
        "Identity": lambda o, _: o[0],
        "LayerNormalization": normalized,
        "MatMul": lambda o, _: torch.matmul(o[0], o[1]),
        "Softmax": lambda o, a: torch.softmax(o[0], a.get("axis", -1)),
        "Sqrt": lambda o, _: torch.sqrt(o[0]),
        "Sub": lambda o, _: o[0] - o[1],
        "Tanh": lambda o, _: torch.tanh(o[0]),
    }


def network(model: ModelProto) -> Any:
    """An ONNX network as a module that takes tensors and gives a tuple of them.

    Raises ValueError for operators that have no translation.
    """
    if str(PEERS) not in sys.path:
        sys.path.insert(0, str(PEERS))
    graph_walk: Any = import_module("graph_walk")
    torch_graph: Any = import_module("torch_graph")

    torch = the_torch()
    attention = fused_attention(model := with_constants(model))
    emitters = {**torch_graph.EMITTERS, **more_emitters()}
    outputs = [value.name for value in model.graph.output]
    walk: Any = graph_walk.GraphWalk(model, emitters)
    walk.nodes = used(walk.nodes, attention, outputs)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.names: dict[str, str] = {}
            self.shapes: dict[str, Any] = {}
            for index, (name, value) in enumerate(walk.weights.items()):
                if value.dtype.kind == "i":
                    self.shapes[name] = value.tolist()
                    continue
                self.names[name] = f"weight_{index}"
                tensor = torch.nn.Parameter(torch.from_numpy(value), False)
                self.register_parameter(f"weight_{index}", tensor)

        def forward(self, *inputs: Any) -> tuple[Any, ...]:
            values = {name: getattr(self, own) for name, own in self.names.items()}
            values |= self.shapes | dict(zip(walk.inputs, inputs, strict=True))
            walk.run(values)
            return tuple(values[name] for name in outputs)

    return Network()


def used(
    nodes: Sequence[Any],
    attention: Mapping[str, tuple[list[str], float, str | None]],
    outputs: Sequence[str],
) -> list[Any]:
    """The nodes of a walk with attention as one call each, without those that nobody reads."""
    torch = the_torch()

    def attend(scale: float) -> Any:
        def emit(operands: list[Any], _: object) -> Any:
            queries, keys, values, *mask = operands
            return torch.nn.functional.scaled_dot_product_attention(
                queries,
                keys.transpose(-1, -2),
                values,
                attn_mask=mask[0] if mask else None,
                scale=scale,
            )

        return emit

    replaced: list[Any] = []
    for emit, operands, attributes, result in nodes:
        if result in attention:
            names, scale, mask = attention[result]
            operands = names if mask is None else [*names, mask]
            replaced.append((attend(scale), operands, {}, result))
        else:
            replaced.append((emit, operands, attributes, result))
    kept, wanted = list[Any](), set(outputs)
    for node in reversed(replaced):
        if node[3] in wanted:
            kept.append(node)
            wanted.update(node[1])
    return kept[::-1]
