"""How far each runtime is from the exact result: largest error over the largest output.

python benchmarks/accuracy.py --networks resnet50,bert_base

The exact result is that of the `onnx` package's evaluator with all floats as doubles. Columns
are our numerics (exact, default, fast) and ONNX Runtime; a network above the budget that
`docs/numerics.md` states fails the command.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper

from benchmarks.compare import largest_error, names
from benchmarks.networks import NETWORKS, evaluate_reference, make_inputs
from benchmarks.networks.inputs import Array

NUMERICS = ("exact", "default", "fast")
BUDGET = {"exact": 1e-4, "default": 1e-4}
"""What is promised; `fast` stores weights in 16 bits where memory is the limit."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__)
    parser.add_argument(
        "--networks", type=names(NETWORKS), default=list(NETWORKS), metavar="A,B"
    )
    failed = False
    print(f"| {'network':>14} | {' | '.join(f'{n:>8}' for n in (*NUMERICS, 'ort'))} |")
    print(f"|{'-' * 15}:|{'---------:|' * 4}")
    for network in parser.parse_args().networks:
        errors = measure(NETWORKS[network]())
        failed |= any(errors[name] > most for name, most in BUDGET.items())
        cells = " | ".join(f"{error:8.0e}" for error in errors.values())
        print(f"| {network:>14} | {cells} |", flush=True)
    return int(failed)


def measure(model: ModelProto) -> dict[str, float]:
    """Returns the error of each runtime by name."""
    import onnxruntime

    import glow

    inputs = make_inputs(model)
    doubles = {name: widened(value) for name, value in inputs.items()}
    expected = evaluate_reference(in_doubles(model), doubles)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    errors: dict[str, float] = {}
    for numerics in NUMERICS:
        outputs = glow.compile(model, numerics=numerics)(**inputs)
        single = isinstance(outputs, np.ndarray)
        errors[numerics] = largest_error([outputs] if single else outputs, expected)
    errors["ort"] = largest_error(session.run(None, inputs), expected)
    return errors


def widened(value: Array) -> Array:
    """Returns floats as doubles, and others as they are."""
    return value.astype(np.float64) if value.dtype == np.float32 else value


def in_doubles(model: ModelProto) -> ModelProto:
    """Returns the model with every float of its weights, types and casts a double."""
    double = ModelProto()
    double.CopyFrom(model)
    _widen_graph(double.graph)
    return double


def _widen_graph(graph: GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            elif (
                attribute.name in ("to", "stash_type")
                and attribute.i == TensorProto.FLOAT
            ):
                attribute.i = TensorProto.DOUBLE


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        values = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


if __name__ == "__main__":
    sys.exit(main())
