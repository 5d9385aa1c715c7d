"""Networks whose products have weights of 4 bits with a scale for each block of 32, as ONNX
Runtime's `MatMulNBits` has them; activations are floats, or may be rounded to 8 bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

BITS, BLOCK = 4, 32
MIDDLE = 1 << (BITS - 1)
FLOATS, ROUNDED = 1, 4
"""The accuracy levels of the operator."""


def build(network: Callable[[], ModelProto], level: int = FLOATS) -> ModelProto:
    """A network with its constant matrices quantized, as far as blocks fit their depth."""
    model = network()
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        held = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if held is not None and len(held.dims) == 2 and held.dims[0] % BLOCK == 0:
            _quantize(graph.initializer, node, held, level)
    used = {name for node in graph.node for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def _quantize(
    initializers: list[TensorProto], node: NodeProto, held: TensorProto, level: int
) -> None:
    """Make a product one with quantized weights."""
    matrix = numpy_helper.to_array(held).astype(np.float32)
    depth, columns = matrix.shape
    codes, scales = quantized(matrix)
    for name, array in (("codes", codes), ("scales", scales)):
        initializers.append(numpy_helper.from_array(array, f"{held.name}.{name}"))
    node.op_type, node.domain = "MatMulNBits", "com.microsoft"
    node.input[1] = f"{held.name}.codes"
    node.input.append(f"{held.name}.scales")
    numbers = {"K": depth, "N": columns, "bits": BITS, "block_size": BLOCK}
    for key, number in (*numbers.items(), ("accuracy_level", level)):
        node.attribute.append(helper.make_attribute(key, number))


def quantized(
    matrix: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """[K, N] as bytes [N, K / 32, 16] of two codes each, and scales [N * K / 32]."""
    blocks = matrix.T.reshape(matrix.shape[1], -1, BLOCK)
    largest = np.abs(blocks).max(2, keepdims=True)
    scales = np.where(largest == 0, 1, largest / (MIDDLE - 1)).astype(np.float32)
    codes = (np.rint(blocks / scales) + MIDDLE).astype(np.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << BITS, scales.ravel()
