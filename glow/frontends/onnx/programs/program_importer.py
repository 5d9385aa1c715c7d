"""The import of an ONNX model, program by program.

A program begins with inputs and weights, or with what the one before leaves (`Start`), and
ends with the model's outputs, or where a value is missing (`starts.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.weight_table import Array
from glow.frontends.onnx.control_flow import control_flow_handler
from glow.frontends.onnx.frame import Frame, Scope, names_read, used_names
from glow.frontends.onnx.functions import has_body
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.importer import Importer, handler_of, node_name
from glow.frontends.onnx.inputs import (
    check_declared,
    check_default,
    check_names,
    check_tensor,
    declared_info,
    fixed_value,
    open_infos,
    type_of,
)
from glow.frontends.onnx.lists import (
    Absent,
    ListValue,
    element_names,
    elements_of,
    named_elements,
)
from glow.frontends.onnx.loader import LoadedModel
from glow.frontends.onnx.messages import NodeProto, ValueInfoProto
from glow.frontends.onnx.programs.inner_values import read_again
from glow.frontends.onnx.programs.starts import (
    Cut,
    FirstNode,
    Start,
    Step,
    Type,
    can_be_passed,
    casts_made_again,
    replace_by_arguments,
    results_behind,
)
from glow.frontends.onnx.refusal import NeedsValue, need_line
from glow.open_sizes import (
    InputShapes,
    InputValues,
    OpenModelError,
    OpenSignature,
    OpenTensorInfo,
    open_sizes_line,
)
from glow.specialization.program_ends import Answers, ProgramEnds

TRIED_SIZES = (1, 16, 256)
"""What fails in the same way for all of them as sizes that are open fails for any: the
last is one that a network which halves its images five or six times accepts."""


class ProgramImporter(Importer):
    """The import of one model, program by program."""

    def __init__(self, loaded: LoadedModel, training: bool = False) -> None:
        super().__init__(loaded, training)
        self.infos: list[OpenTensorInfo] = []
        """The inputs that are not fixed."""
        self.first = FirstNode(self.block, Start(0, {}, {}, {}))

    def root(self, input_shapes: InputShapes, input_values: InputValues) -> Start:
        """Where the first program begins; OpenModelError where inputs have open sizes."""
        graph = self.model.graph
        constants = self.initializers(graph, self.loaded.weights)
        check_names(graph.input, input_shapes, input_values)
        values = {
            value.name: fixed_value(value, input_values[value.name])
            for value in graph.input
            if value.name in input_values
        }
        declared = [
            value
            for value in graph.input
            if value.name not in constants or value.name in {*values, *input_shapes}
        ]
        for output in graph.output:
            check_tensor(output)
        infos = open_infos(declared, input_shapes, values)
        arrays = {
            name: value.array
            for name, value in constants.items()
            if isinstance(value, Constant)
        } | values
        for info in infos:
            check_default(info, arrays.get(info.name))
        self.infos = [info for info in infos if info.name not in arrays]
        if any(info.is_open for info in self.infos):
            raise self._open_sizes_error(arrays)
        return self._root(arrays, 0)

    def _root(self, constants: Mapping[str, Array], open_size: int) -> Start:
        """Where the first program begins, with a number for all open sizes."""
        types = {info.name: type_of(info, open_size) for info in self.infos}
        return Start(0, constants, types, {name: name for name in types})

    def _open_sizes_error(self, constants: Mapping[str, Array]) -> GlowError:
        """The error for sizes that are open, or one that no size mends."""
        needed: tuple[str, ...] = ()
        errors: list[GlowError] = []
        for size in TRIED_SIZES:
            try:
                step = self.walk(self._root(constants, size))
            except GlowError as error:
                errors.append(error)
            else:
                needed = () if step.module else step.asks
                break
        lines = {error.one_line() for error in errors}
        if len(errors) == len(TRIED_SIZES) and len(lines) == 1:
            return errors[0]
        message, hint = open_sizes_line(self.infos)
        return OpenModelError(message, self._signature(needed), hint=hint)

    def end_of(
        self, start: Start, shapes: InputShapes, answers: Answers, known: ProgramEnds
    ) -> Start:
        """Where the program behind some answers ends, which begins at a start."""
        end = known.find(shapes, answers)
        if end is None:
            end = self.walk(start).next
            assert end is not None
            known.keep(shapes, answers, end)
        return end

    def open_error(self, step: Step) -> OpenModelError:
        """The error for a model of several programs where one is wanted."""
        needed = () if step.module else step.asks
        hint = "it is computed from data, which only a call has"
        if needed:
            hint = f"pass input_values, or --value {needed[0]}=..."
        return OpenModelError(step.reason, self._signature(needed), hint=hint)

    def _signature(self, needed: Sequence[str]) -> OpenSignature:
        return OpenSignature(
            tuple(
                replace(info, is_specialized_on=info.name in needed)
                for info in self.infos
            ),
            tuple(map(declared_info, self.model.graph.output)),
        )

    def walk(self, start: Start) -> Step:
        """The program from a start on, to its end or to where a value is missing."""
        self.begin()
        scope, arguments = start.enter(self.block)
        for tensor in self.model.graph.initializer:
            if isinstance(weight := scope.get(tensor.name), Constant):
                weight.is_weight = True
        self.callers = {one: name for name, one in arguments.items()}
        frame = Frame(scope, used_names(self.model.graph), self.opsets)
        cut = self._import_main(start, frame)
        self.unsupported.raise_if_any()
        if self.needs:
            reason = next(iter(self.needs.values()))
            return Step(None, tuple(self.needs), start, reason)
        if cut is not None:
            return self._finish_at(cut, start, arguments, scope)
        results: dict[str, SSAValue] = {}
        for output in self.model.graph.output:
            results |= self._output(output, frame)
        self._finish(results, arguments, start)
        return Step(self.module, (), None)

    def _finish_at(
        self,
        cut: Cut,
        start: Start,
        arguments: Mapping[str, BlockArgument],
        scope: Scope,
    ) -> Step:
        """The program that ends at a cut: its results are what later nodes read."""
        graph = self.model.graph
        callers: dict[SSAValue, str] = {**self.callers}
        pairs = zip(self.first.results, start.inner, strict=False)
        callers.update((value, name) for value, name in pairs if name)
        there = len(callers)
        names: dict[str, str] = {}
        constants: dict[str, Array] = {}
        read = names_read(graph.node[cut.node :])
        read.update(output.name for output in graph.output)
        live, again = casts_made_again(graph.node[: cut.node], read, scope, cut.value)
        forms = {name: value for name, value in scope.items() if name in live}
        for name, value in named_elements(forms):
            if isinstance(value, Constant):
                constants[name] = value.array
            else:
                names[name] = callers.setdefault(value, name)
        inner = results_behind(self.block, cut.mark)
        node = node_name(graph.node[cut.node])
        for number, value in enumerate(inner):
            if can_be_passed(value):
                callers.setdefault(value, f"value {number} of node '{node}'")
        results = {name: value for value, name in list(callers.items())[there:]}
        if cut.value not in callers:
            raise GlowError(cut.reason)
        passed = tuple(callers.get(value, "") for value in inner)
        kept = {*names.values(), *passed}
        types = {
            name: cast(Type, value.type)
            for value, name in callers.items()
            if name in kept
        }
        constants |= {
            name: start.constants[name]
            for name in start.inner
            if name in kept and name in start.constants
        }
        lists = {
            name: element_names(name, value)
            for name, value in forms.items()
            if isinstance(value, ListValue)
        }
        absent = {name for name, v in forms.items() if isinstance(v, Absent)}
        following = Start(
            cut.node, constants, types, names, passed, lists, absent, again
        )
        asked = callers[cut.value]
        new = {name for name in passed if name in results} - {asked, *names.values()}
        dropped = new - read_again(copy.copy(self), following, asked)
        results = {name: one for name, one in results.items() if name not in dropped}
        self._finish(results, arguments, start)
        return Step(self.module, (asked,), following.without(dropped), cut.reason)

    def _import_main(self, start: Start, frame: Frame) -> Cut | None:
        """Import the main graph's nodes from a start on; where that ends too early."""
        nodes = self.model.graph.node
        self.import_nodes([nodes[index] for index in start.again], frame)
        first = self.first = FirstNode(self.block, start)
        for index in range(start.node, len(nodes)):
            mark = self.block.last_op
            self.graph.answers = first.answer if index == start.node else None
            try:
                self.import_nodes([nodes[index]], frame)
            except NeedsValue as need:
                self._check_rest(nodes[index + 1 :], frame)
                reason = need_line(nodes[index], node_name(nodes[index]), need.what)
                return Cut(index, mark, need.value, reason)
            finally:
                if index == start.node:
                    first.end()
        return None

    def _check_rest(self, nodes: Iterable[NodeProto], frame: Frame) -> None:
        """Note the operators that we lack behind the end of a program."""
        for proto in nodes:
            if not (
                control_flow_handler(proto.domain, proto.op_type)
                or handler_of(proto)
                or has_body(proto, self.functions, frame.opsets)
            ):
                self.unsupported.add(proto, node_name(proto))

    def _output(self, output: ValueInfoProto, frame: Frame) -> dict[str, SSAValue]:
        """The value of an output of the model; of a sequence that of each element."""
        self.graph.location = None
        value = frame.read(output.name, "graph outputs")
        names = element_names(output.name, value)
        results = map(self.graph.value_of, elements_of([value]))
        found = dict(zip(names, results, strict=True))
        if output.name in found:
            check_declared(output, found[output.name], self.warnings.append)
        return found

    def _finish(
        self,
        results: Mapping[str, SSAValue],
        arguments: Mapping[str, BlockArgument],
        start: Start,
    ) -> None:
        """Return the results and put the function around the block."""
        block, first = self.block, self.first
        self.graph.location = None
        self.graph.save_generators()
        block.add_op(ReturnOp(*results.values()))
        inner = [arguments.get(name) for name in start.inner]
        replace_by_arguments(first.results, inner[: len(first.results)])
        if start.node > 0 or start.inner:
            for argument in list(block.args):
                if not argument.uses:
                    block.erase_arg(argument)
        inputs = [self.callers[one] for one in block.args]
        operands = cast(Operation, block.last_op).operands
        types = [one.type for one in block.args], [one.type for one in operands]
        function = FuncOp("main", types, Region(block))
        for attribute, texts in ((INPUT_NAMES, inputs), (OUTPUT_NAMES, results)):
            listed = [StringAttr(text) for text in texts]
            function.attributes[attribute] = ArrayAttr(listed)
        self.module.body.block.add_op(function)
