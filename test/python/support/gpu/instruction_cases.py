"""One instruction by the kernels that its row of the table gives, beside the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from glow.backends.cpu.program.program import Invocation, Scratch
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.selection import threads_of
from glow.backends.cuda.selection.choice import Choice
from glow.backends.cuda.selection.common import Buffer, ThreadRequest
from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray[Any, Any]


def type_of(array: Array) -> str:
    """The text of the type of an array."""
    name = array.dtype.name.replace("uint", "ui").replace("int", "i")
    element = name.replace("float", "f").replace("bool", "i1")
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{element}>"


@dataclass
class InstructionCase:
    """A node of such operands %0, %1, ..., and the types of its results."""

    node: str
    results: Sequence[str]
    inputs: Sequence[Array]

    @property
    def text(self) -> str:
        """A function that has it."""
        given = (f"%{k}: {type_of(each)}" for k, each in enumerate(self.inputs))
        count, results = len(self.results), ", ".join(self.results)
        names = ", ".join(f"%y{k}" for k in range(count))
        return (
            f"func.func @main({', '.join(given)}) -> ({results}) {{\n"
            f"{names} = {self.node} : {results}\n"
            f"func.return {names} : {results}\n}}"
        )

    def expected(self) -> list[Array]:
        """The interpreter's results."""
        return run(parse_text(new_context(), self.text, "case.mlir"), self.inputs)

    @cached_property
    def function(self) -> FuncOp:
        """The function, of instructions."""
        context = new_context()
        self.module = parse_text(context, self.text, "case.mlir")
        GlowToInstrPass().apply(context, self.module)
        (function,) = (op for op in self.module.walk() if isinstance(op, FuncOp))
        return function

    @cached_property
    def instruction(self) -> instr.InstructionOp:
        """The instruction that it is."""
        first, *_ = (
            op for op in self.function.walk() if isinstance(op, instr.InstructionOp)
        )
        return first

    @cached_property
    def calls(self) -> list[Invocation]:
        """The kernels with their buffers."""
        found = threads_of(self.instruction, Choice(GPU_MACHINES["sm_80"]))
        assert not isinstance(found, str), found
        return [call for call in found if isinstance(call, Invocation)]

    @property
    def kernels(self) -> list[GpuKernel]:
        """The kernels, whose text is verified."""
        found: list[GpuKernel] = []
        for call in self.calls:
            assert isinstance(call.kernel, ThreadRequest)
            found.append(call.kernel.build_threads(call.kernel.name, TARGET))
            found[-1].module.verify()
        return found

    def simulate(self) -> tuple[list[Array], Report]:
        """The results, over 77s, and what the last kernel cost."""
        arguments = self.function.body.block.args
        buffers: dict[Buffer, Array] = {
            value: each for value, each in zip(arguments, self.inputs, strict=False)
        }
        outs = list(self.instruction.outs)
        for out in outs:
            buffers[out] = np.full(shape_of(out), 77, dtype_of(element_of(out)))
        report = Report()
        for kernel, call in zip(self.kernels, self.calls, strict=True):
            types_ = kernel.function.function_type.inputs
            for type_, value in zip(types_, call.buffers, strict=True):
                assert types.is_memref(type_)
                if isinstance(value, Scratch) and value not in buffers:
                    element = dtype_of(type_.element_type)
                    buffers[value] = np.full(type_.get_shape(), 77, element)
            taken = [buffers[value] for value in call.buffers]
            for type_, array in zip(types_, taken, strict=True):
                assert types.is_memref(type_)
                assert types.byte_width(type_.element_type) == array.itemsize
                assert type_.element_count() == array.size
            report = run_kernel(kernel.function, [as_stored(each) for each in taken])
        return [buffers[out] for out in outs], report


def same_bits(case: InstructionCase) -> None:
    """Results are the interpreter's, all of them."""
    results, _ = case.simulate()
    for result, expected in zip(results, case.expected(), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def as_stored(array: Array) -> Array:
    """The same memory as integers that have signs, as kernels have them."""
    if array.dtype.kind in "ub":
        return array.view(np.dtype(f"i{array.itemsize}"))
    return array
