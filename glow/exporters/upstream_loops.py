"""A network as loops of upstream's dialects, with a function that other programs call.

    func.func @main(%image: memref<1x3x8x8xf32>, %scores: memref<1x10xf32>)
        attributes {llvm.emit_c_interface} {
      %constants = memref.get_global @constants : memref<1216xi8>
      %mutables = memref.alloc() {alignment = 64 : i64} : memref<1088xi8>
      %inside = memref.view %mutables[%0][] : memref<1088xi8> to memref<1x3x8x8xf32>
      memref.copy %image, %inside
      func.call @main_network(%constants, %mutables, %activations, %0, %1, %barrier)
      ...
    }

The calling convention: contiguous buffers for the inputs, then for the outputs, in the order of
the network, which the caller has made. Weights are a global constant; one thread computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseResourceAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.backends.bundle_program import LoopProgram, Place
from glow.dialects.attributes import operand_segments_attr
from glow.dialects.node import tensor_type
from glow.dialects.weight_table import element_type_of
from glow.exporters.programs.export import Program, named
from glow.exporters.programs.operations import operation

CONSTANTS = "constants"


class MainWriter:
    """Appends the operations of the function that is called."""

    def __init__(self, program: LoopProgram) -> None:
        (self.function,) = program.functions
        self.program = program
        places = [*self.function.inputs, *self.function.outputs]
        self.block = Block(arg_types=[buffer_type(place) for place in places])
        self.zero = self.index(0)
        self.network = f"main_{self.function.name}"

    @property
    def regions(self) -> Sequence[Attribute]:
        """The types of what the network's function takes."""
        (main,) = (p for p in self.program.parts if p.sym_name.data == self.network)
        return main.function_type.inputs.data

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> Sequence[SSAValue]:
        """The results of a new operation."""
        op = operation(name, operands, types, properties)
        self.block.add_op(op)
        return op.results

    def index(self, number: int) -> SSAValue:
        """A constant index."""
        value = IntegerAttr(number, IndexType())
        return self.emit("arith.constant", (), [IndexType()], {"value": value})[0]

    def allocated(self, kind: Attribute) -> SSAValue:
        """Memory for a region."""
        properties: dict[str, Attribute] = {
            "alignment": IntegerAttr(self.program.alignment, i64),
            "operandSegmentSizes": operand_segments_attr(0, 0),
        }
        return self.emit("memref.alloc", (), [kind], properties)[0]

    def view(self, memory: SSAValue, place: Place) -> SSAValue:
        """The buffer of an input or output inside the mutables."""
        start = self.index(place.offset)
        return self.emit("memref.view", [memory, start], [buffer_type(place)])[0]

    def write(self) -> Block:
        """The body: copies in, the network, copies out."""
        constants, mutable, active, _, _, waiting = self.regions
        reference: dict[str, Attribute] = {"name": SymbolRefAttr(CONSTANTS)}
        (weights,) = self.emit("memref.get_global", (), [constants], reference)
        mutables, activations, barrier = map(self.allocated, (mutable, active, waiting))
        count = len(self.function.inputs)
        for place, value in zip(
            self.function.inputs, self.block.args[:count], strict=True
        ):
            self.emit("memref.copy", [value, self.view(mutables, place)])
        operands = [weights, mutables, activations, self.zero, self.index(1), barrier]
        callee: dict[str, Attribute] = {"callee": SymbolRefAttr(self.network)}
        self.emit("func.call", operands, (), callee)
        for place, value in zip(
            self.function.outputs, self.block.args[count:], strict=True
        ):
            self.emit("memref.copy", [self.view(mutables, place), value])
        for memory in (mutables, activations, barrier):
            self.emit("memref.dealloc", [memory])
        self.emit("func.return")
        return self.block


def buffer_type(place: Place) -> MemRefType[Attribute]:
    """The type of an input or output."""
    return MemRefType(element_type_of(place.dtype), place.shape)


def upstream_loops(program: LoopProgram) -> Program:
    """A program of loops and the function that is called."""
    writer = MainWriter(program)
    function, block = writer.function, writer.write()
    names = [place.name for place in (*function.inputs, *function.outputs)]
    memory, content = writer.regions[0], program.constants.view(np.int8)
    assert isinstance(memory, MemRefType)
    held = tensor_type(memory.get_shape(), i8)
    content = np.resize(content, memory.get_shape())  # Without weights it has one byte.
    constants: dict[str, Attribute] = {
        "sym_name": StringAttr(CONSTANTS),
        "sym_visibility": StringAttr("private"),
        "type": memory,
        "initial_value": DenseResourceAttr.from_params(CONSTANTS, held),
        "constant": UnitAttr(),
        "alignment": IntegerAttr(program.alignment, i64),
    }
    types = [value.type for value in block.args]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr("main"),
        "function_type": FunctionType.from_lists(types, []),
        "arg_attrs": named(names, "ml_program.identifier"),
    }
    main = operation("func.func", properties=properties, regions=[Region(block)])
    main.attributes["llvm.emit_c_interface"] = UnitAttr()
    parts: list[Operation] = [plain(part) for part in program.parts]
    stored = operation("memref.global", properties=constants)
    return Program(ModuleOp([stored, *parts, main]), {CONSTANTS: content})


def plain(function: func.FuncOp) -> func.FuncOp:
    """A private function without attributes of ours."""
    for name in [name for name in function.attributes if name.startswith("glow.")]:
        del function.attributes[name]
    function.properties["sym_visibility"] = StringAttr("private")
    if (
        not function.body.blocks
    ):  # The barrier, where one thread has nothing to wait for.
        block = Block(arg_types=function.function_type.inputs.data)
        block.add_op(func.ReturnOp())
        function.body.add_block(block)
    return function
