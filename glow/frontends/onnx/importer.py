"""Turns an ONNX model into a module of the `glow` dialect.

One walk over the nodes, which ONNX keeps in topological order. A node whose inputs are
all known is computed on the spot (`folding.py`), so the subgraphs that compute shapes
leave no trace; any other node goes to its handler (`registry.py`), or, where ONNX
defines the operator by a body of simpler ones, to that body (`functions.py`). The walk
continues after an operator that is not supported, so that all of them are reported at
once. Shapes follow from the shape rules of our own nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from glow.dialects.errors import GlowError
from glow.dialects.node import fail_unless, shape_of
from glow.dialects.weights import weights_of
from glow.frontends.onnx.call_graph import check_calls
from glow.frontends.onnx.control_flow import control_flow_handler
from glow.frontends.onnx.folding import (
    BYTES_A_WEIGHT_BYTE,
    MIN_BYTES,
    FoldingGraph,
    fold,
)
from glow.frontends.onnx.frame import UNKNOWN, Frame, Scope, used_names
from glow.frontends.onnx.functions import function_body, has_body
from glow.frontends.onnx.graph import Constant, Graph, value_name
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.loader import LoadedModel, opset_versions
from glow.frontends.onnx.messages import (
    GraphProto,
    NodeProto,
)
from glow.frontends.onnx.node import OnnxNode, Value
from glow.frontends.onnx.old_forms import OLDEST_OPSET, modern_form
from glow.frontends.onnx.operators import plain
from glow.frontends.onnx.programs.starts import (
    shape_arguments,
)
from glow.frontends.onnx.refusal import NeedsValue, UnsupportedError, need_line
from glow.frontends.onnx.registry import (
    ATEN_DOMAIN,
    ATEN_HANDLERS,
    CONTRIB_DOMAIN,
    CONTRIB_HANDLERS,
    DEFAULT_DOMAINS,
    HANDLERS,
    TRAINING_DOMAIN,
    TRAINING_HANDLERS,
    Handler,
)
from glow.frontends.onnx.tensors import to_array
from glow.frontends.onnx.unsupported import UnsupportedOperators
from glow.passes.graph.fold_constants import Budget

THEMES = (
    "constants",
    "arithmetic",
    "activations",
    "matmul",
    "movement",
    "shapes",
    "casts",
    "spatial.convolution",
    "spatial.pooling",
    "spatial.global_pools",
    "normalization",
    "reduction",
    "indexing",
    "recurrent",
    "quantization",
    "microsoft",
    "spatial.resize",
    "data_sizes",
    "bits",
    "hyperbolic",
    "einsum",
    "bags",
    "signal",
    "spatial.sampling",
    "spatial.regions",
    "random_numbers",
    "experimental",
    "training",
)
"""The modules whose handlers fill `HANDLERS` behind those of `plain`, common ones first: they
are loaded in this order until one has the operator of a node."""

_unloaded = list(reversed(THEMES))

MALFORMED = (
    ArithmeticError,
    AssertionError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What NumPy and Python raise for operands and attributes that make no sense."""

MOST_ASKED = 1 << 16
"""Values of more elements decide no shapes: programs are not compiled for each of them."""


def node_name(proto: NodeProto) -> str:
    """A node's name, or where it has none that of its first result."""
    return proto.name or next(filter(None, proto.output), proto.op_type)


def handler_of(proto: NodeProto) -> Handler | None:
    """The handler of a node's operator, if there is one."""
    found = _loaded_handler(proto)
    while found is None and load_theme():
        found = _loaded_handler(proto)
    return found


def _loaded_handler(proto: NodeProto) -> Handler | None:
    if proto.domain == ATEN_DOMAIN and proto.op_type == "ATen":
        names = [a.s.decode() for a in proto.attribute if a.name == "operator"]
        return ATEN_HANDLERS.get(names[0]) if names else None
    return TABLES.get(proto.domain, {}).get(proto.op_type)


def load_theme() -> bool:
    """Load the next theme's handlers; false if all are there."""
    if not _unloaded:
        return False
    # Another thread may load the same one: it is done before it leaves the list.
    theme = _unloaded[-1]
    import_module(f"{plain.__package__}.{theme}")
    if _unloaded and _unloaded[-1] == theme:
        _unloaded.pop()
    return True


def handlers_of(domain: str) -> Mapping[str, Handler]:
    """The handlers of a domain's operators, all of them."""
    while load_theme():
        pass
    return TABLES.get(domain, {})


TABLES: Mapping[str, Mapping[str, Handler]] = {
    **dict.fromkeys(DEFAULT_DOMAINS, HANDLERS),
    CONTRIB_DOMAIN: CONTRIB_HANDLERS,
    TRAINING_DOMAIN: TRAINING_HANDLERS,
}
"""The handlers that are loaded, by domain."""


class Importer:
    """The import of one model."""

    def __init__(self, loaded: LoadedModel, training: bool = False) -> None:
        self.loaded = loaded
        self.training = training
        self.model = loaded.proto
        self.opsets = opset_versions(self.model)
        self.warnings: list[str] = []
        self.functions = {(f.domain, f.name): f for f in self.model.functions}
        self.budget = Budget(MIN_BYTES)
        self.new_folding_graph: Callable[[], FoldingGraph] = partial(
            FoldingGraph, self.budget
        )
        """What computes nodes whose inputs are all known."""
        check_calls(self.model.graph.node, self.functions)
        self.begin()

    def begin(self) -> None:
        """An empty program."""
        self.block = Block()
        self.module = ModuleOp([])
        self.graph = Graph(self.block, weights_of(self.module))
        self.graph.training = self.training
        self.unsupported = UnsupportedOperators()
        self.copied = 0
        self.callers: dict[BlockArgument, str] = {}
        self.needs: dict[str, str] = {}
        """The arguments whose values are needed, and a line on who needs each."""

    def initializers(
        self, graph: GraphProto, weights: Mapping[str, memoryview]
    ) -> Scope:
        if graph.sparse_initializer:
            name = graph.sparse_initializer[0].values.name
            raise GlowError(f"tensor '{name}': sparse tensors are not supported")
        scope: Scope = {}
        for tensor in graph.initializer:
            raw_data = weights.get(tensor.name)
            array = to_array(tensor, self.loaded.folders, raw_data)
            scope[tensor.name] = Constant(array, tensor.name, is_weight=True)
            self.budget.bytes += BYTES_A_WEIGHT_BYTE * array.nbytes
        return scope

    # Nodes

    def import_nodes(self, nodes: Iterable[NodeProto], frame: Frame) -> None:
        """Import nodes in order, reading and defining values of the frame."""
        for proto in nodes:
            name = frame.owner or node_name(proto)
            try:
                values = self._import_node(proto, name, frame)
            except NeedsValue as need:
                self._ask(need, frame.blamed(proto), name)
                values = [UNKNOWN] * len(proto.output)
            except UnsupportedError as error:
                reason = frame.reason(proto, str(error))
                self.unsupported.add(frame.blamed(proto), name, reason)
                values = [UNKNOWN] * len(proto.output)
            except GlowError as error:
                raise GlowError(error.message, node=error.node or name) from error
            except (VerifyException, *MALFORMED) as error:
                # Handlers trust ONNX's rules; what breaks them ends here, in one line.
                operator = frame.blamed(proto).op_type
                raise GlowError(f"{operator}: {error}", node=name) from error
            frame.define(proto.output, values, name)

    def _ask(self, need: NeedsValue, proto: NodeProto, name: str) -> None:
        """Note the arguments that tell a value; the need again where nodes compute it."""
        value = need.value
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if block is not self.block:
            raise need  # Whoever imports that block may find another way.
        is_large = prod(shape_of(value)) > MOST_ASKED
        if is_large or self.graph.array_of(value) is not None:
            self.unsupported.add(proto, name, str(need))
            return
        arguments = shape_arguments(value)
        if not arguments:
            raise need
        line = need_line(proto, name, need.what)
        for argument in arguments:
            self.needs.setdefault(self.callers[argument], line)

    def _import_node(
        self, proto: NodeProto, name: str, frame: Frame
    ) -> Sequence[Value | Held]:
        """The results of one node."""
        inputs = frame.read_inputs(proto, name)
        default = proto.domain in DEFAULT_DOMAINS
        control_flow = control_flow_handler(proto.domain, proto.op_type)
        handler = None if control_flow else handler_of(proto)
        if UNKNOWN in inputs:
            # An operand comes from an operator that is already reported.
            if not (
                handler or control_flow or has_body(proto, self.functions, frame.opsets)
            ):
                reason = frame.reason(proto, "")
                self.unsupported.add(frame.blamed(proto), name, reason)
            return [UNKNOWN] * len(proto.output)
        opset = frame.opsets.get("" if default else proto.domain, 1)
        is_selection = proto.op_type == "NonMaxSuppression" and not frame.owner
        rows = self._rows_read(proto.output) if is_selection else None
        node = OnnxNode(proto, inputs, self.graph, opset, frame.used, rows)
        if default and opset < OLDEST_OPSET:
            node = modern_form(node)
        self.graph.set_node(name)
        if control_flow is not None:
            return control_flow(self, node, frame)
        if (folded := fold(node, handler, self.new_folding_graph)) is not None:
            return folded
        if handler is None:
            return self._import_body(node, name, frame)
        results = handler(node)
        return results if isinstance(results, Sequence) else [results]

    def _rows_read(self, outputs: Sequence[str]) -> int | None:
        """How many of the boxes that a node selects are read, where that is known."""
        if self.loaded.rows_read is None:
            from glow.frontends.onnx.rows_read import rows_read

            self.loaded.rows_read = rows_read(self.model.graph)
        return self.loaded.rows_read.get(next(iter(outputs), ""))

    def import_body(
        self, body: GraphProto, arguments: Sequence[Held], frame: Frame
    ) -> list[Held]:
        """The outputs of an inner graph, which sees the names around it."""
        names = [value.name for value in body.input]
        wrong = f"a body has {len(names)} inputs, not {len(arguments)}"
        fail_unless(len(names) == len(arguments), wrong)
        given = dict(zip(names, arguments, strict=True))
        scope = {**frame.scope, **self.initializers(body, {}), **given}
        inner = replace(frame, scope=scope, used=used_names(body))
        for name, argument in given.items():
            if isinstance(argument, SSAValue) and argument.name_hint is None:
                argument.name_hint = value_name(name)
        location = self.graph.location
        self.import_nodes(body.node, inner)
        self.graph.location = location
        return [inner.read(output.name, "a body") for output in body.output]

    def _import_body(self, node: OnnxNode, name: str, frame: Frame) -> list[Held]:
        """The results of an operator that is defined by a body of simpler ones."""
        body = function_body(node, self.functions, frame.opsets)
        if body is None:
            raise UnsupportedError("")
        inputs = [*node.inputs, *[None] * (len(body.inputs) - len(node.inputs))]
        scope = Scope(
            (formal, actual)
            for formal, actual in zip(body.inputs, inputs, strict=False)
            if actual is not None
        )
        in_model = (node.proto.domain, node.proto.op_type) in self.functions
        operator = None if in_model else frame.blamed(node.proto)
        used, optional = body.used_names(), set(body.inputs)
        inner = Frame(scope, used, body.opsets, name, optional, operator)
        self.import_nodes(body.nodes, inner)
        return [
            scope.get(output, UNKNOWN)
            for output in body.outputs[: len(node.proto.output)]
        ]
