"""The `instr` level: buffers are NumPy arrays, views of them are NumPy views.

Reads of memory that nobody has written show as NaN: a buffer is spoiled when it is
allocated and again when it is freed. Allocations with an `offset` share one arena for
each function, so a wrong memory plan gives wrong results here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import filled_outputs
from glow.dialects.node import node_name, shape_of
from glow.dialects.weights import check_held, dense_to_numpy, weights_of
from glow.interpreter.arrays import Array, garbage, spoil
from glow.interpreter.evaluation import call, rounded, run_fused
from glow.interpreter.scalar_functions import Function, element_dtype


def empty(buffer_type: Attribute) -> Array:
    """A new buffer of a memref type, with meaningless content."""
    return garbage(shape_of(buffer_type), element_dtype(buffer_type))


def root_of(value: SSAValue) -> SSAValue:
    """The allocation, weight or argument that a view looks into."""
    while isinstance(value.owner, instr.TensorviewOp | instr.DynamicViewOp):
        value = value.owner.source
    return value


def written_arguments(function: FuncOp) -> list[int]:
    """The numbers of the arguments that the function's instructions write."""
    written = {
        root_of(value)
        for op in function.walk()
        if isinstance(op, instr.InstructionOp)
        for value in (*op.outs, *op.inouts)
    }
    numbers = {each.output for each in filled_outputs(function)}
    return [
        number
        for number, argument in enumerate(function.body.block.args)
        if argument in written or number in numbers
    ]


def function_of(op: Operation) -> FuncOp:
    """The function that holds an operation."""
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


def byte_size(buffer_type: Attribute) -> int:
    """The size of a memref in bytes."""
    return math.prod(shape_of(buffer_type)) * element_dtype(buffer_type).itemsize


def arena_size(function: FuncOp) -> int:
    """The end of the last planned allocation in bytes."""
    return max(
        op.offset.value.data + byte_size(op.result.type)
        for op in function.walk()
        if isinstance(op, instr.AllocOp) and op.offset is not None
    )


class Memory:
    """The buffers of one run: an arena for each function, and which buffers are freed."""

    def __init__(self) -> None:
        self.arenas: dict[FuncOp, Array] = {}
        self.freed: set[SSAValue] = set()

    def allocate(self, op: instr.AllocOp) -> Array:
        """A buffer of its own, or at its place in the function's arena."""
        self.freed.discard(op.result)
        if op.offset is None:
            return empty(op.result.type)
        function = function_of(op)
        if function not in self.arenas:
            self.arenas[function] = np.zeros(arena_size(function), np.uint8)
        start, shape = op.offset.value.data, shape_of(op.result)
        part = self.arenas[function][start : start + byte_size(op.result.type)]
        buffer = part.view(element_dtype(op.result.type)).reshape(shape)
        spoil(buffer)
        return buffer

    def free(self, op: instr.DeallocOp, buffer: Array) -> None:
        """End a buffer's life; raises GlowError when it ended before."""
        self.check_live(op)
        if not isinstance(op.buffer.owner, instr.AllocOp):
            raise GlowError("instr.dealloc of something that instr.alloc did not give")
        spoil(buffer)
        self.freed.add(op.buffer)

    def check_live(self, op: Operation) -> None:
        """Raise GlowError when an operand's buffer is freed."""
        for number, operand in enumerate(op.operands):
            if root_of(operand) in self.freed:
                raise GlowError(
                    f"operand {number} of {op.name} is used after its instr.dealloc",
                    node=node_name(op),
                )


def run_weight(op: instr.WeightOp) -> Array:
    """Constant memory, which cannot be written."""
    value = op.value
    if isa(value, DenseIntOrFPElementsAttr):
        array: Array = dense_to_numpy(value)
    else:
        name = op.weight_name
        assert name is not None
        array = weights_of(op)[name]
        check_held(name, array, op.result.type)
    view = np.ascontiguousarray(array).reshape(shape_of(op.result)).view()
    view.flags.writeable = False
    return view


def run_tensorview(op: instr.TensorviewOp, source: Array) -> Array:
    """A view of part of a buffer under another shape."""
    shape, offset = shape_of(op.result), op.offset.value.data
    return source.reshape(-1)[offset : offset + math.prod(shape)].reshape(shape)


def run_dynamic_view(op: instr.DynamicViewOp, source: Array, index: Any) -> Array:
    """A view of one element of the first axis."""
    if not 0 <= int(index) < source.shape[0]:
        raise GlowError(
            f"index {int(index)} is outside of axis 0 of size {source.shape[0]}"
        )
    return source[int(index)]


def run_copy(op: instr.CopyOp, source: Array) -> Array:
    """The source's elements."""
    return source


def run_splat(op: instr.SplatOp) -> Array:
    """The number of every element."""
    return np.asarray(op.value.value.data)


def run_insert(op: instr.InsertOp, target: Array, source: Array) -> None:
    """Write the source into the target at the offsets."""
    offsets = op.attributes_view().ints("offsets")
    target[
        tuple(
            slice(offset, offset + size)
            for offset, size in zip(offsets, source.shape, strict=True)
        )
    ] = source


VIEWS: dict[type[Operation], Function] = {
    instr.WeightOp: run_weight,
    instr.TensorviewOp: run_tensorview,
    instr.DynamicViewOp: run_dynamic_view,
}
"""Operations whose result is memory that exists."""


def instruction_functions(
    nodes: Mapping[type[Operation], Function],
) -> dict[type[Operation], Function]:
    """The function of each instruction: that of its node, of the `@in` operands."""
    own: dict[type[Operation], Function] = {
        instr.CopyOp: run_copy,
        instr.SplatOp: run_splat,
        instr.StackedOp: run_fused,
    }
    return own | {
        instruction: function
        for node, function in nodes.items()
        if (instruction := instr.find_instruction(node)) and instruction not in own
    }


def execute(op: instr.InstructionOp, function: Function, args: PythonValues) -> None:
    """Run an instruction and write its results into its `@out` buffers."""
    outs = args[: len(op.outs)]
    results = call(op, function, args[len(op.outs) + len(op.inouts) :])
    with np.errstate(all="ignore"):
        for out, value, result in zip(outs, op.outs, results, strict=True):
            out[...] = rounded(result, value.type)


Method = Callable[[InterpreterFunctions, Interpreter, Any, PythonValues], PythonValues]


def instruction_methods(
    nodes: Mapping[type[Operation], Function],
) -> dict[type[Operation], Method]:
    """What xDSL's interpreter calls for each operation of the `instr` dialect."""
    memory = Memory()
    functions = instruction_functions(nodes)

    def run_instruction(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        memory.check_live(op)
        execute(op, functions[type(op)], args)
        return ()

    def run_view(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        return (VIEWS[type(op)](op, *args),)

    def run_in_place(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        memory.check_live(op)
        run_insert(op, *args)
        return ()

    def run_alloc(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        return (memory.allocate(op),)

    def run_dealloc(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        memory.free(op, args[0])
        return ()

    return {
        instr.AllocOp: run_alloc,
        instr.DeallocOp: run_dealloc,
        instr.InsertOp: run_in_place,
        **dict.fromkeys(VIEWS, run_view),
        **dict.fromkeys(functions, run_instruction),
    }
