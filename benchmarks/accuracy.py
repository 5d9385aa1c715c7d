"""How far each runtime is from the exact result: largest error over the largest output.

python benchmarks/accuracy.py --networks resnet50,bert_base
python benchmarks/accuracy.py --uneven
python benchmarks/accuracy.py --networks resnet50,bert_base --bf16 --inputs 8

The exact result is that of the `onnx` package's evaluator with all floats as doubles. Columns
are our numerics (exact, default, fast) and ONNX Runtime; a network above the budget that
`docs/numerics.md` states fails the command.

With `--uneven` it is single layers on inputs and weights of very uneven sizes
(`adversarial.py`): the largest error of a row over the size of that row.

With `--bf16` it is Glow and OpenVINO, both with products in bf16, over a number of inputs: the
mean over them of the largest error and of the root mean square, relative to the largest and to
the root mean square of the exact output.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper

from benchmarks.adversarial import BUDGET, CASES, LAYERS, operands, worst_row
from benchmarks.compare import names
from benchmarks.networks import (
    NETWORKS,
    evaluate_reference,
    make_inputs,
    reference_of,
)
from benchmarks.networks.inputs import Array
from benchmarks.result import largest_error

NUMERICS = tuple(BUDGET)


def main() -> int:
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__)
    parser.add_argument(
        "--networks", type=names(NETWORKS), default=list(NETWORKS), metavar="A,B"
    )
    parser.add_argument(
        "--uneven", action="store_true", help="layers on operands of uneven sizes"
    )
    parser.add_argument("--bf16", action="store_true", help="beside OpenVINO, in bf16")
    parser.add_argument("--inputs", type=int, default=8, help="of --bf16 (default: 8)")
    arguments = parser.parse_args()
    if arguments.uneven:
        return compare_rows()
    return (
        compare_bf16(arguments.networks, arguments.inputs)
        if arguments.bf16
        else compare_numerics(arguments.networks)
    )


def compare_numerics(networks: Sequence[str]) -> int:
    """Prints the errors in f32; returns whether one is above its budget, or NaN."""
    failed = False
    print(f"| {'network':>14} | {' | '.join(f'{n:>8}' for n in (*NUMERICS, 'ort'))} |")
    print(f"|{'-' * 15}:|{'---------:|' * 4}")
    for network in networks:
        errors = measure(NETWORKS[network]())
        failed |= not all(errors[name] <= most for name, most in BUDGET.items())
        cells = " | ".join(f"{error:8.0e}" for error in errors.values())
        print(f"| {network:>14} | {cells} |", flush=True)
    return int(failed)


def compare_rows() -> int:
    """Prints the errors of rows of layers; returns whether one is above its budget."""
    import onnxruntime

    import glow

    failed = False
    columns = " | ".join(f"{name:>8}" for name in (*NUMERICS, "ort"))
    print(f"| {'layer':>12} | {'operands':>26} | {columns} |")
    print(f"|{'-' * 13}:|{'-' * 27}:|{'---------:|' * 4}")
    for name, case in product(LAYERS, CASES):
        layer = LAYERS[name]
        x, w = operands(layer, case)
        model, errors = layer.model(w), dict[str, float]()
        for numerics in NUMERICS:
            y = np.asarray(glow.compile(model, numerics=numerics)(x))
            errors[numerics] = worst_row(layer, x, w, y)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        failed |= not all(errors[n] <= most for n, most in BUDGET.items())
        (y,) = session.run(None, {"x": x})
        errors["ort"] = worst_row(layer, x, w, np.asarray(y))
        cells = " | ".join(f"{error:8.0e}" for error in errors.values())
        print(f"| {name:>12} | {case:>26} | {cells} |", flush=True)
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
        outputs = glow.compile(model, numerics=numerics).run(inputs)
        errors[numerics] = largest_error(list(outputs.values()), expected)
    errors["ort"] = largest_error(session.run(None, inputs), expected)
    return errors


def compare_bf16(networks: Sequence[str], inputs: int) -> int:
    """Prints the errors in bf16; returns whether one of ours is above OpenVINO's, or NaN."""
    failed = False
    columns = ("glow max", "openvino max", "glow rms", "openvino rms")
    print(f"| {'network':>14} | {' | '.join(f'{n:>12}' for n in columns)} |")
    print(f"|{'-' * 15}:|{'-------------:|' * 4}")
    for network in networks:
        (most, rms), (their_most, their_rms) = measure_bf16(NETWORKS[network](), inputs)
        failed |= not (most <= their_most and rms <= their_rms)
        errors = (most, their_most, rms, their_rms)
        cells = " | ".join(f"{error:12.5f}" for error in errors)
        print(f"| {network:>14} | {cells} |", flush=True)
    return int(failed)


def measure_bf16(model: ModelProto, inputs: int) -> Array:
    """Returns the mean errors of Glow and OpenVINO: the largest, and the root mean square."""
    import openvino

    import glow

    exact, ours = reference_of(in_doubles(model)), glow.compile(model, precision="bf16")
    core = openvino.Core()
    theirs = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    errors: list[list[tuple[float, float]]] = []
    for seed in range(inputs):
        feed = make_inputs(model, seed)
        doubles = {name: widened(value) for name, value in feed.items()}
        expected = exact(doubles)
        results = (list(ours.run(feed).values()), list(theirs(feed).values()))
        errors.append(
            [(largest_error(r, expected), rms_error(r, expected)) for r in results]
        )
    return np.mean(errors, axis=0)


def rms_error(ours: Sequence[Array], exact: Sequence[Array]) -> float:
    """Returns the root mean square of the difference over that of the exact value."""
    errors = [
        np.linalg.norm(our - right) / np.linalg.norm(right)
        for our, right in zip(ours, exact, strict=True)
    ]
    return float(np.max(errors))


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
