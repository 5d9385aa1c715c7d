"""What must hold of a model with open sizes and shapes of data: it computes the same bits.

A random model gets nodes that read shapes which only its data tells, so that it becomes
several programs, and its inputs lose their sizes. Programs run as they are imported, and by
the interpreter, so that nothing may differ from the model without those nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from checks import Wrong, describe
from float_steps import FLOAT_STEPS
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx_checks import imported
from onnx_graphs import OnnxMaker, random_model
from qdq_steps import QDQ_STEPS
from quantized_steps import INTEGER_STEPS
from random_graphs import Array

from glow.compiled_model import CompiledModel
from glow.compiler import compile
from glow.frontends.onnx import import_step
from glow.interpreter import run
from glow.signature import main_function, signature_of

MOST_CUTS = 3

run_step = run
"""Runs one program of several."""


def reshaped(name: str, data: str, mark: str) -> Iterator[NodeProto]:
    """Nodes that give a value its own shape, which is computed from data: `{name}{mark}`."""
    node = helper.make_node
    yield node("Cast", [data], [f"{mark}n"], to=TensorProto.INT64)
    yield node("Mul", [f"{mark}n", "nothing"], [f"{mark}zeros"])
    yield node("ReduceSum", [f"{mark}zeros"], [f"{mark}zero"], keepdims=0)
    yield node("Shape", [name], [f"{mark}shape"])
    yield node("Add", [f"{mark}shape", f"{mark}zero"], [f"{mark}sizes"])
    yield node("Reshape", [name, f"{mark}sizes"], [f"{name}{mark}"], allowzero=1)


def with_cuts(maker: OnnxMaker, model: ModelProto, choose: np.random.Generator) -> bool:
    """Let later nodes read some values through shapes of data; whether any could be."""
    nodes = list(model.graph.node)
    data = next((v.name for v in maker.inputs if v.array.size), None)
    if data is None or not nodes:
        return False
    places = choose.choice(len(nodes), min(MOST_CUTS, len(nodes)), replace=False)
    renamed: dict[str, str] = {}
    result: list[NodeProto] = []
    for index, node in enumerate(nodes):
        node.input[:] = [renamed.get(name, name) for name in node.input]
        result.append(node)
        if index in places:
            name = next(filter(None, node.output))
            result += reshaped(name, data, f"_{index}")
            renamed[name] = f"{name}_{index}"
    del model.graph.node[:]
    model.graph.node.extend(result)
    model.graph.initializer.append(
        numpy_helper.from_array(np.zeros((), np.int64), "nothing")
    )
    return True


def run_programs(model: bytes, inputs: dict[str, Array]) -> tuple[int, list[Array]]:
    """The number of programs of a model, and its results as they are imported."""
    values, count = dict(inputs), 0
    answers: list[dict[str, Array]] = []
    shapes = {name: array.shape for name, array in inputs.items()}
    while True:
        step = import_step(model, answers, input_shapes=shapes, input_values={})
        if step.module is not None:
            count += 1
            step.module.verify()
            signature = signature_of(main_function(step.module))
            taken = [values[info.name] for info in signature.inputs]
            found = run_step(step.module, taken)
            values.update(zip((i.name for i in signature.outputs), found, strict=True))
            if not step.asks:
                return count, found
        answers.append({name: values[name] for name in step.asks})


def check_open_model(seed: int) -> int:
    """A random model whose shapes only a call tells; how many results were compared."""
    choose = np.random.default_rng(seed)
    steps = (FLOAT_STEPS, (*INTEGER_STEPS, *QDQ_STEPS))[seed % 2]
    maker = random_model(seed, steps)
    model, _ = maker.finish()
    module = imported(model)
    if module is None:
        return 0
    inputs = {value.name: value.array for value in maker.inputs}
    expected = run(module, [*inputs.values()])
    if not with_cuts(maker, model, choose):
        return 0
    for value in model.graph.input:
        for size in value.type.tensor_type.shape.dim:
            size.Clear()
    try:
        count, found = run_programs(model.SerializeToString(), inputs)
        assert count > 1, "one program"
        compiled = compile(model, backend="interpreter")
        assert not isinstance(compiled, CompiledModel), "no size is open"
        assert len(compiled.run(inputs)) == len(found)
        for result, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
    except Exception as error:
        raise Wrong(f"seed {seed}: {describe(error)}") from error
    return len(found)
