"""Chains of functions of one byte between casts, as exporters write them: one table each.

All 256 bytes go through each chain. Native code and the interpreter give the same bytes, those
of ONNX Runtime without its optimizations but for a step where a scaled number is nearly a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.onnx_models.quantized_models import Array, ours_and_theirs, scalar

import glow
from glow.compiler import load, run_passes
from glow.dialects.node import NodeOp
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.quantize import quantize_module
from glow.passes.rewriting.operations import all_operations

Step = tuple[str, Sequence[str | float], dict[str, Any]]
"""An operator, the steps or numbers that it reads (`x` is the input), and attributes."""

PLAIN = "plain "
"""In front of an operator whose result is not cast."""

CHAINS: dict[str, dict[str, Step]] = {
    "swish": {
        "gate": ("Sigmoid", ["x"], {}),
        "y": ("Mul", ["x", "gate"], {}),
    },
    "gate_first": {
        "gate": ("Sigmoid", ["x"], {}),
        "y": ("Mul", ["gate", "x"], {}),
    },
    "hard_swish": {
        "gate": ("HardSigmoid", ["x"], {"alpha": 1 / 6, "beta": 0.5}),
        "y": ("Mul", ["x", "gate"], {}),
    },
    "gelu": {
        "scaled": ("Mul", ["x", 0.7071], {}),
        "erf": ("Erf", ["scaled"], {}),
        "gate": ("Add", ["erf", 1.0], {}),
        "product": ("Mul", ["x", "gate"], {}),
        "y": ("Mul", ["product", 0.5], {}),
    },
    "mish": {
        "soft": ("Softplus", ["x"], {}),
        "gate": ("Tanh", ["soft"], {}),
        "y": ("Mul", ["x", "gate"], {}),
    },
    "gelu_of_floats": {
        "gate": (PLAIN + "Erf", ["x"], {}),
        "sum": (PLAIN + "Add", ["gate", 1.0], {}),
        "y": ("Mul", ["x", "sum"], {}),
    },
    "swish_of_clipped": {
        "clipped": (PLAIN + "Clip", ["x", -3.0, 3.0], {}),
        "gate": (PLAIN + "Sigmoid", ["clipped"], {}),
        "y": ("Mul", ["gate", "clipped"], {}),
    },
    "rectified": {
        "tanh": ("Tanh", ["x"], {}),
        "positive": ("Relu", ["tanh"], {}),
        "y": ("Sub", ["positive", "x"], {}),
    },
}
NEARLY_TIES = 0.02
"""The share of numbers that rescaling may round to the other side of a tie."""
STEPS = {1: 1, 2: 6}
"""Of the result: a step of a gate of 16 bits is up to six of its product with x, 6 at most."""
KINDS = (np.uint8, np.int8, np.uint16)


def model_of_chain(chain: dict[str, Step], x: Array) -> ModelProto:
    """Each step between DequantizeLinear and QuantizeLinear, with scales of its own."""
    dtype = x.dtype
    info = np.iinfo(dtype)
    steps = float(info.max - info.min)
    middle = scalar(round((info.max + info.min) / 2 + 0.1), dtype)
    constants: dict[str, Array] = {"x_s": scalar(12 / steps), "x_z": middle}
    found = [helper.make_node("DequantizeLinear", ["x", "x_s", "x_z"], ["x_f"])]
    for number, (name, (operator, inputs, attributes)) in enumerate(chain.items()):
        read: list[str] = []
        for value in inputs:
            if isinstance(value, str):
                read.append(f"{value}_f")
                continue
            read.append(f"{name}_c{len(read)}")
            constants[read[-1]] = scalar(value)
        constants[f"{name}_s"] = scalar((7 + number) / steps)
        constants[f"{name}_z"] = middle
        operator, is_plain = operator.removeprefix(PLAIN), operator.startswith(PLAIN)
        if is_plain:
            found.append(helper.make_node(operator, read, [f"{name}_f"], **attributes))
            continue
        scale, result = [f"{name}_s", f"{name}_z"], "y" if name == "y" else f"{name}_q"
        found += [
            helper.make_node(operator, read, [f"{name}_r"], **attributes),
            helper.make_node("QuantizeLinear", [f"{name}_r", *scale], [result]),
            helper.make_node("DequantizeLinear", [result, *scale], [f"{name}_f"]),
        ]
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        found[:-1],
        "chain",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, x.shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )


def every_number(dtype: Any) -> Array:
    """All that the type holds, in rows of 256."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype).reshape(-1, 256)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_one_table(name: str, dtype: Any) -> None:
    """Nothing is left beside it, and it has the bytes of the steps."""
    x = every_number(dtype)
    model = model_of_chain(CHAINS[name], x)
    module = load(model)
    run_passes(module, graph_passes())
    quantize_module(module)
    names = {op.name for op in all_operations(module) if isinstance(op, NodeOp)}
    assert names == {"glow.constant", "glow.lookup_table"}
    (mine,), (other,) = ours_and_theirs(model, {"x": x})
    difference = np.abs(mine.astype(int) - other.astype(int))
    assert difference.max() <= STEPS[np.dtype(dtype).itemsize]
    assert (mine != other).mean() < NEARLY_TIES
    (compiled,) = glow.compile(model, threads=1).run({"x": x}).values()
    np.testing.assert_array_equal(compiled, mine)
