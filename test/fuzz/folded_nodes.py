"""Every operator of the importer at every version, folded and computed.

ONNX's own examples of operators are taken at each opset that changed the operator and
still takes the example; inputs that were attributes then become attributes. Four results
must agree: of the node with constant inputs, which the importer computes, of the node
with computed inputs, of the node as a function of arrays where it has one, all bit for bit,
and of ONNX Runtime, or of ONNX's example where that has no kernel.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
import onnx
import onnxruntime
from checks import Wrong
from onnx import ModelProto, NodeProto, checker, defs, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.importer import handlers_of
from glow.frontends.onnx.programs.array_operators import array_operator
from glow.interpreter import run
from glow.open_sizes import OpenModelError

Arrays = Mapping[str, np.ndarray]

OLDEST, NEWEST = 7, 23
"""The opsets that are taken; ONNX Runtime has no later one."""

MOST = 8
"""Examples of an operator at an opset: there are hundreds of casts."""

RANDOM = frozenset(
    """
    Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform
    RandomUniformLike
    """.split()
)

ELSEWHERE = re.compile(r"not supported|needs the value|elements of type")
"""Refusals, which another test counts."""

OTHERWISE = frozenset(("Cast", "CastLike", "MaxUnpool"))
"""Operators that ONNX Runtime computes otherwise: casts out of range wrap there, and indices
of an unpooling are those of the output's shape, where ONNX's own test has the pooled one's."""

SPECTRA = frozenset(("DFT", "STFT"))
"""Operators whose rounding is relative to the norm of the whole signal."""


@dataclass(frozen=True)
class Example:
    """A node at an opset with its inputs, and the outputs at the newest one."""

    node: NodeProto
    opset: int
    inputs: Arrays
    outputs: Sequence[np.ndarray] | None

    def model(self, inputs: Sequence[str], weights: Arrays) -> ModelProto:
        """The node with some inputs computed and others constant."""
        declared = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(self.inputs[name].dtype),
                self.inputs[name].shape,
            )
            for name in inputs
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.node.output if name]
        constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]
        graph = helper.make_graph([self.node], "node", declared, outputs, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@cache
def versions_of(operator: str) -> list[int]:
    """The first opsets of the operator's versions, the oldest that is taken included."""
    found: set[int] = set()
    for opset in range(OLDEST, NEWEST + 1):
        with suppress(defs.SchemaError):
            found.add(max(defs.get_schema(operator, opset).since_version, OLDEST))
    return sorted(found)


def is_valid(node: NodeProto, opset: int) -> bool:
    """Whether a node is one of the opset."""
    context = checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 10, {"": opset}
    try:
        checker.check_node(node, context)
    except checker.ValidationError:
        return False
    return True


def node_at(case_node: NodeProto, inputs: Arrays, opset: int) -> NodeProto | None:
    """The node as an older opset has it: inputs that were attributes become such."""
    newest = defs.get_schema(case_node.op_type, NEWEST)
    schema = defs.get_schema(case_node.op_type, opset)
    node = NodeProto()
    node.CopyFrom(case_node)
    for number in range(schema.max_input, len(case_node.input)):
        given, formal = case_node.input[number], newest.inputs[number].name
        if not given:
            continue
        if formal not in schema.attributes or given not in inputs:
            return None
        kind, value = schema.attributes[formal].type, inputs[given]
        types = defs.OpSchema.AttrType
        if kind in (types.FLOAT, types.FLOATS):
            value = value.astype(np.float64)
        single = kind in (types.FLOAT, types.INT)
        content = value.item() if single else value.reshape(-1).tolist()
        attribute = helper.make_attribute(formal, content, attr_type=kind.value)
        node.attribute.append(attribute)
    del node.input[schema.max_input :]
    while node.input and not node.input[-1]:
        del node.input[-1]
    return node


def to_arrays(values: Sequence[object]) -> list[np.ndarray] | None:
    """The arrays of tensors; None where a value is none."""
    if any(value is None or isinstance(value, list) for value in values):
        return None
    return [
        numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else np.asarray(v)
        for v in values
    ]


@cache
def examples() -> list[Example]:
    """All examples, in an order that does not change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    known = handlers_of("")
    found: list[Example] = []
    counts = Counter[tuple[str, int]]()
    for case in sorted(cases, key=lambda case: case.name):
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].op_type not in known:
            continue
        inputs, outputs = map(to_arrays, case.data_sets[0])
        if inputs is None or outputs is None or graph.node[0].op_type in RANDOM:
            continue
        named = dict(zip((i.name for i in graph.input), inputs, strict=True))
        for opset in versions_of(graph.node[0].op_type):
            node = node_at(graph.node[0], named, opset)
            key = (graph.node[0].op_type, opset)
            if node is not None and counts[key] < MOST and is_valid(node, opset):
                counts[key] += 1
                kept = {name: named[name] for name in node.input if name}
                same = opset == versions_of(node.op_type)[-1]
                found.append(Example(node, opset, kept, outputs if same else None))
    return found


def runtime_results(example: Example) -> list[np.ndarray] | None:
    """What ONNX Runtime computes; None where it does not take the node."""
    if example.node.op_type in OTHERWISE:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    model = example.model(list(example.inputs), {})
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(y) for y in session.run(None, dict(example.inputs))]
    except Exception:
        return None


def results(example: Example, inputs: Sequence[str]) -> list[np.ndarray]:
    """What the import computes with some inputs left open; raises GlowError."""
    weights = {n: a for n, a in example.inputs.items() if n not in inputs}
    model = example.model(inputs, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = import_model(model)
    return run(module, [example.inputs[name] for name in inputs])


def computed_inputs(example: Example) -> list[str]:
    """The inputs that may be computed: not the integers that the importer must know."""
    names = list(example.inputs)
    try:
        results(example, names)
    except OpenModelError:
        return [
            n for n, a in example.inputs.items() if a.ndim > 1 or a.dtype.kind == "f"
        ]
    return names


def array_results(example: Example) -> list[np.ndarray] | None:
    """What the node computes as a function of arrays; None where the importer does."""
    operator = array_operator(example.node, example.opset)
    scope = {name: Constant(array, name) for name, array in example.inputs.items()}
    with np.errstate(all="ignore"):
        if operator is None or not operator.run(scope):
            return None
    return [scope[name].array for name in example.node.output if name]


def check_folded_node(seed: int) -> int:
    """Compare an example's results; how many comparisons were made."""
    if seed >= len(examples()):
        return 0
    example = examples()[seed]
    title = f"seed {seed}: {example.node.op_type}-{example.opset}"
    try:
        computed = results(example, computed_inputs(example))
    except GlowError as error:
        expected = runtime_results(example)
        if expected is not None and not ELSEWHERE.search(error.message):
            raise Wrong(f"{title}: ONNX Runtime takes it: {error}") from error
        return 0
    is_spectrum = example.node.op_type in SPECTRA
    folded = results(example, [])
    for others in (computed, array_results(example) or folded):
        for one, other in zip(folded, others, strict=True):
            if not is_same(one, other):
                raise Wrong(f"{title}: folded {one}, computed {other}")
    expected = runtime_results(example)
    expected = example.outputs if expected is None else expected
    for one, other in zip(computed, expected or (), strict=False):
        scale = np.max(np.abs(other), initial=1) if is_spectrum else 1.0
        check_close(title, one, other, scale)
    return 1 + (expected is not None)


def is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether arrays have the same type, sizes and numbers; any NaN is one."""
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)


def check_close(
    title: str, result: np.ndarray, expected: np.ndarray, scale: float
) -> None:
    """Raise Wrong where results differ by more than rounding."""
    half = result.dtype.kind == "V" or result.dtype.itemsize == 2
    tolerance = 2e-2 if half else 1e-4
    same = (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if not same or not np.allclose(
        result.astype(np.float64), expected.astype(np.float64),
        rtol=tolerance, atol=tolerance * scale, equal_nan=True,
    ):  # fmt: skip
        raise Wrong(f"{title}: {result} is not {expected}")
