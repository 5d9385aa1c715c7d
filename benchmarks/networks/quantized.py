"""Quantized networks, made from the float ones by ONNX Runtime's quantizer.

| scheme    | activations                           | weights                     |
|-----------|---------------------------------------|-----------------------------|
| `u8s8`    | unsigned, asymmetric, one scale each  | signed, a scale per channel |
| `s8s8`    | signed, symmetric, one scale each     | signed, a scale per channel |
| `dynamic` | float, quantized before each product  | signed, a scale per channel |

The static schemes are calibrated on four random inputs, none of which is the one that the
benchmark times. They come in two forms, which say the same: casts around float operators
(QDQ), which every runtime reads, and ONNX Runtime's own integer operators (QOperator).
Of a transformer, casts are put around the matrix products only. The probabilities at the end
stay float: in steps of 1/255, nearly all of a thousand classes are zero, and results that are
zero say nothing of who computed right.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import onnx
from onnx import ModelProto, version_converter

from benchmarks.networks.inputs import Array, make_inputs

# ONNX Runtime's quantizer carries no types.
# pyright: basic

STATIC = ("u8s8", "s8s8")
SCHEMES = (*STATIC, "dynamic")
CALIBRATION_SEEDS = (1, 2, 3, 4)
OPSET = 17
"""Scales per channel need at least 13."""


def build(
    network: Callable[[], ModelProto], scheme: str, *, operators: bool = False
) -> ModelProto:
    """Returns a network under a scheme; with `operators` in the form of integer operators."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "quantized.onnx"
        _prepare(network(), source)
        if scheme == "dynamic":
            quantize_dynamic(
                source, target, per_channel=True, weight_type=QuantType.QInt8
            )
        else:
            _quantize_static(source, target, scheme, operators)
        return onnx.load(target)


def _prepare(model: ModelProto, path: Path) -> None:
    """Write a model with batch normalizations folded, at an opset that has what it takes."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    opset = next(entry.version for entry in model.opset_import if not entry.domain)
    if opset < OPSET:
        model = version_converter.convert_version(model, OPSET)
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"node{index}"
    path.write_bytes(model.SerializeToString())
    quant_pre_process(path, path, skip_symbolic_shape=True)


def _quantize_static(source: Path, target: Path, scheme: str, operators: bool) -> None:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    model = onnx.load(source)
    symmetric = scheme == "s8s8"
    is_transformer = any(
        node.op_type == "LayerNormalization" for node in model.graph.node
    )
    products_only = is_transformer and not operators
    quantize_static(
        source,
        target,
        cast(CalibrationDataReader, _Calibration(model)),
        quant_format=QuantFormat.QOperator if operators else QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8 if symmetric else QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul"] if products_only else None,
        nodes_to_exclude=probabilities(model),
        extra_options={"ActivationSymmetric": symmetric},
    )


def probabilities(model: ModelProto) -> list[str]:
    """Returns the names of the nodes that make the results: a softmax, and what shapes it."""
    producers = {name: node for node in model.graph.node for name in node.output}
    last: list[str] = []
    for result in model.graph.output:
        chain, node = [], producers[result.name]
        while node.op_type == "Reshape":
            chain.append(node.name)
            node = producers[node.input[0]]
        if node.op_type == "Softmax":
            last += [*chain, node.name]
    return last


class _Calibration:
    """Hands out the calibration inputs, as the quantizer asks for them."""

    def __init__(self, model: ModelProto) -> None:
        self._inputs: Iterator[dict[str, Array]] = (
            make_inputs(model, seed) for seed in CALIBRATION_SEEDS
        )

    def get_next(self) -> dict[str, Array] | None:
        return next(self._inputs, None)
