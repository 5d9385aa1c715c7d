"""Pieces that all rows use: requests of kernels, and epilogues with a bias."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import MemRefType, bf16, f16, f32, i1, i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.program.program import (
    Invocation,
    KernelRequest,
    Row,
    Scratch,
)
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.backends.cuda.kernels.gpu_builder import TILE_BYTES, GpuKernel
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of
from glow.dialects.small_types import is_small
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, OperandLayout
from glow.lowering.loop_builder.ir_types import signless, storage_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.passes.instr import align_buffers

Spec = TypeVar("Spec", bound=Hashable)
Buffer = SSAValue | Row | Scratch

ELEMENTS = (f32, f16, bf16, i8, i32)
"""What threads read and write; booleans and others are read in other ways."""


def no_loops(name: str, target: Target) -> Kernel:
    """Raise GlowError: a kernel of blocks of threads is none of loops."""
    raise GlowError(f"kernel '{name}' is one for many threads")


@dataclass(frozen=True)
class ThreadRequest(KernelRequest):
    """A kernel for many threads that some instruction needs."""

    build: Callable[[str, Target], Kernel] = field(
        compare=False, repr=False, default=no_loops
    )
    build_threads: Callable[[str, Target], GpuKernel] = field(
        compare=False, repr=False, kw_only=True
    )


def thread_request(
    label: str, spec: Spec, build: Callable[[Spec, Target, str], GpuKernel]
) -> ThreadRequest:
    """The kernel that `build(spec, target, name)` builds."""
    return ThreadRequest(
        label,
        ("threads", label, spec),
        build_threads=lambda name, target: build(spec, target, name),
    )


def launch(
    label: str,
    spec: Spec,
    build: Callable[[Spec, Target, str], GpuKernel],
    buffers: Sequence[Buffer],
    writes: int = 1,
) -> list[Invocation]:
    """One kernel, built by `build(spec, target, name)`, on the buffers."""
    return [Invocation(thread_request(label, spec, build), buffers, writes)]


def other_element(buffers: Sequence[SSAValue]) -> str | None:
    """Which element threads do not compute with, in words; None if there is none."""
    for buffer in buffers:
        element = element_of(buffer)
        if is_small(element) or element == i1 or signless(element) not in ELEMENTS:
            return f"it has elements of {element}"
    return None


def other_elements(
    taken: Sequence[MemRefType[Attribute]], buffers: Sequence[SSAValue]
) -> str | None:
    """Which buffer has elements that a kernel does not take; None if there is none."""
    for type_, buffer in zip(taken, buffers, strict=True):
        if storage_type(element_of(buffer)) != type_.element_type:
            return f"it has elements of {element_of(buffer)}"
    return None


def is_aligned(op: instr.InstructionOp) -> bool:
    """Whether all buffers begin where threads may take the most bytes that they take at once."""
    buffers = (*op.outs, *op.inouts, *op.ins)
    return all(align_buffers.is_aligned(each, TILE_BYTES) for each in buffers)


def exchanged(strides: Strides) -> Strides:
    """The strides of transposed matrices."""
    return Strides(strides.batch, strides.column, strides.row)


@dataclass(frozen=True)
class BiasEpilogue:
    """A bias, one number a channel, and what comes behind it."""

    sums: Attribute
    behind: Epilogue | None = None

    @property
    def operand_layouts(self) -> tuple[OperandLayout, ...]:
        """The bias, then the operands of what is behind."""
        rest = () if self.behind is None else self.behind.operand_layouts
        return ("channel", *rest)

    @property
    def operand_elements(self) -> tuple[Attribute, ...]:
        """Their element types."""
        rest = () if self.behind is None else self.behind.operand_elements
        return (self.sums, *rest)

    @property
    def result_element(self) -> Attribute:
        """The element type of what is stored."""
        return self.sums if self.behind is None else self.behind.result_element

    @property
    def is_long(self) -> bool:
        """Whether it needs many registers for each element."""
        return self.behind is not None and self.behind.is_long

    def apply(
        self,
        builder: LoopBuilder,
        accumulator: SSAValue,
        epilogue_operands: Sequence[SSAValue],
    ) -> SSAValue:
        """The value to store."""
        bias, *rest = epilogue_operands
        total = builder.add_values(accumulator, bias)
        return total if self.behind is None else self.behind.apply(builder, total, rest)
