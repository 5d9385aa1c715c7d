"""The nine model-zoo graphs of the `onnx` package, with weights.

The package ships them without: each weight is a `ConstantOfShape` of 0.02, which makes every
channel alike. Here each becomes an initializer drawn for the slot that it feeds. The few
small trained vectors left in the files are redrawn too: the variance of a trained network's
channel, 5e4 or 6e-45, says nothing about a random one.

Nothing else changes: same nodes, same opset (9). Only `ConstantOfShape` nodes, which are then
unused, go.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benchmarks.networks.weights import Fill, Shape, Weights, he, near_one, near_zero

FILES = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "densenet121": "light_densenet121.onnx",
    "inception_v1": "light_inception_v1.onnx",
    "inception_v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
}
FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
IR_VERSION = 8

Slot = tuple[NodeProto, int]
"""A node and the number of one of its operands."""


def build(name: str) -> ModelProto:
    """Returns the network `name`, one of `FILES`; its input is [1, 3, 224, 224]."""
    source = ModelProto.FromString((FOLDER / FILES[name]).read_bytes())
    shapes = _weight_shapes(source.graph)
    slots = _slots(source.graph)
    model = helper.make_model(
        _without_weights(source.graph, set(shapes)),
        opset_imports=source.opset_import,
        ir_version=IR_VERSION,
        producer_name="glow",
    )
    for weight, shape in shapes.items():
        if weight in slots:  # In place: each copy of VGG-19's takes half a second.
            tensor = model.graph.initializer.add()
            tensor.dims.extend(shape)
            tensor.data_type = TensorProto.FLOAT
            tensor.name = weight
            values = _draw(f"{name}/{weight}", shape, weight, slots)
            tensor.raw_data = values.tobytes()
    return model


def build_batch(name: str, batch: int) -> ModelProto:
    """Returns the network `name` for `batch` images at once."""
    model = build(name)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = batch
    del model.graph.value_info[:]
    shapes = {n.input[1] for n in model.graph.node if n.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        if tensor.name in shapes and tensor.dims[0]:
            shape = numpy_helper.to_array(tensor) * 1
            shape[0] = batch
            tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))
    return model


def _weight_shapes(graph: GraphProto) -> dict[str, Shape]:
    """Returns the shape of each floating-point weight by name."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    shapes = {
        name: tuple(tensor.dims)
        for name, tensor in initializers.items()
        if tensor.data_type == TensorProto.FLOAT
    }
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = numpy_helper.to_array(initializers[node.input[0]])
            shapes[node.output[0]] = tuple(shape.tolist())
    return shapes


def _slots(graph: GraphProto) -> dict[str, list[Slot]]:
    """Returns the operands that read each value."""
    slots: dict[str, list[Slot]] = defaultdict(list)
    for node in graph.node:
        for index, name in enumerate(node.input):
            slots[name].append((node, index))
    return slots


def _draw(
    seed: str, shape: Shape, weight: str, slots: dict[str, list[Slot]]
) -> Weights:
    """Returns the values of `weight` for the first operand that reads it."""
    node, index = slots[weight][0]
    while node.op_type in ("Unsqueeze", "Reshape"):
        node, index = slots[node.output[0]][0]
    values = _FILLS.get((node.op_type, index), near_zero)(seed, shape)
    damping = _damping(node, index, slots)
    if damping != 1:
        values *= damping
    return values


def _damping(node: NodeProto, index: int, slots: dict[str, list[Slot]]) -> np.float32:
    """Returns the factor that keeps the second moment where `he` alone would not."""
    readers = {reader.op_type for reader, _ in slots[node.output[0]]}
    if (node.op_type, index) == ("BatchNormalization", 1) and "Sum" in readers:
        return np.float32(0.4)  # A branch of a residual sum: sums must not grow.
    if node.op_type not in ("Conv", "Gemm") or index != 1:
        return np.float32(1)
    following = [op for op in _path(node, slots) if op in ("Conv", "Gemm", "Relu")]
    if not {"Conv", "Gemm"} & set(following):
        return np.float32(0.3)  # The classifier: a one-hot softmax hides differences.
    return np.float32(1 if following[0] == "Relu" else 0.5**0.5)


def _path(node: NodeProto, slots: dict[str, list[Slot]]) -> list[str]:
    """Returns the operators on one way from `node` to the output."""
    operators: list[str] = []
    while readers := slots[node.output[0]]:
        node = readers[0][0]
        operators.append(node.op_type)
    return operators


def _linear(seed: str, shape: Shape) -> Weights:
    """Returns weights `[..., outputs, inputs]`; the leading ones are Caffe's."""
    return he(seed, shape[-2:]).reshape(shape)


_FILLS: dict[tuple[str, int], Fill] = {
    ("Conv", 1): he,
    ("Gemm", 1): _linear,
    ("BatchNormalization", 1): near_one,
    ("BatchNormalization", 4): near_one,
    ("Mul", 1): near_one,
}
"""What each operand holds; biases and means, `near_zero`, are the rest."""


def _without_weights(source: GraphProto, drawn: set[str]) -> GraphProto:
    """Returns `source` without the values named in `drawn`."""
    nodes = [node for node in source.node if node.op_type != "ConstantOfShape"]
    read = {name for node in nodes for name in node.input}
    kept = [t for t in source.initializer if t.name in read and t.name not in drawn]
    stored = {tensor.name for tensor in source.initializer}
    inputs = [value for value in source.input if value.name not in stored]
    return helper.make_graph(nodes, source.name, inputs, source.output, kept)
