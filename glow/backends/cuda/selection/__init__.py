"""Which kernel for many threads serves which instruction: one table, a theme a module.

A row reads an instruction's shapes and attributes, and gives the kernels with their buffers; or
it says in words why it does not take the instruction, which then has the kernel of the CPU, an
item a thread. Weights in rows (`row_packing.py`) are read by kernels of this table alone.

A row's module is loaded when a network has the first instruction of it. `THEMES` says without
loading them what rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import cast

from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.kernel_table import Selectors
from glow.backends.cpu.program.program import KernelSelector
from glow.backends.cuda.kernels.contraction_spec import Precision
from glow.backends.cuda.kernels.gpu_builder import TILE_BYTES
from glow.backends.cuda.selection.choice import Calls, Choice, Row
from glow.backends.cuda.selection.common import is_aligned
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import node_name
from glow.dialects.numerics import check_numerics
from glow.dialects.quantized import any_quantized
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES

THEMES: Mapping[str, Sequence[type[Operation]]] = {
    "attention": (cpu.AttentionOp,),
    "contraction": (
        cpu.MatmulOp,
        cpu.Conv2dOp,
        cpu.Int8MatmulOp,
        cpu.Int8Conv2dOp,
    ),
    "elementwise": (
        *SCALAR_BODIES,
        *CASTS,
        cpu.RequantizeOp,
        glow.FusedOp,
        glow.SplatOp,
    ),
    "movement": (
        glow.TransposeOp,
        glow.BroadcastOp,
        glow.GatherOp,
        glow.SliceOp,
        instr.CopyOp,
        instr.InsertOp,
        cpu.PackOp,
        cpu.UnpackOp,
    ),
    "products": (
        cpu.BatchMatmulOp,
        cpu.Int8BatchMatmulOp,
        cpu.PlainConv2dOp,
        glow.MatmulOp,
    ),
    "recurrence": (cpu.RecurrenceOp,),
    "rows": (
        glow.SoftmaxOp,
        cpu.SoftmaxOp,
        glow.LayerNormOp,
        cpu.LayerNormOp,
        cpu.FusedRowsOp,
        cpu.PerRowQuantizeOp,
        cpu.RowRangeOp,
        glow.ReduceSumOp,
        glow.ReduceMeanOp,
        glow.ReduceMaxOp,
        glow.ReduceMinOp,
    ),
    "windows": (
        glow.MaxPool2dOp,
        glow.AvgPool2dOp,
        cpu.DepthwiseConv2dOp,
        cpu.GroupedConv2dOp,
        cpu.Int8DepthwiseConv2dOp,
        cpu.Int8SumPool2dOp,
        cpu.LocalResponseNormOp,
        glow.LocalResponseNormOp,
    ),
}
"""The keys of the table `ROWS` of each module here."""

ANYWHERE = {*THEMES["elementwise"], *THEMES["movement"]} - {glow.GatherOp}
"""Those whose kernels read an element at a time where buffers are not aligned."""

THEME_OF: Mapping[type[Operation], str] = {
    key: theme for theme, keys in THEMES.items() for key in keys
}


def key_of(instruction: type[Operation]) -> type[Operation]:
    """The node that an instruction follows from; another one itself."""
    if issubclass(instruction, instr.InstructionOp):
        return instr.NODE_OF.get(instruction, instruction)
    return instruction


def threads_of(op: instr.InstructionOp, choice: Choice) -> Calls | str:
    """The kernels for many threads of an instruction, or why there are none."""
    key = key_of(type(op))
    theme = THEME_OF.get(key)
    if theme is None:
        return "there is no builder for it"
    if any_quantized(op.operand_types):
        return "it has quantized elements"
    if key not in ANYWHERE and not is_aligned(op):
        return f"a buffer does not begin at a multiple of {TILE_BYTES} bytes"
    row: Row = import_module(f"{__name__}.{theme}").ROWS[key]
    return row(op, choice)


def has_rows(op: instr.InstructionOp) -> bool:
    """Whether an instruction reads weights in rows, which kernels of the CPU do not."""
    is_packed = THEME_OF.get(key_of(type(op))) in ("contraction", "recurrence")
    return is_packed and op.attributes_view().get("panels") is None


class ThreadSelectors(Mapping[type[Operation], KernelSelector]):
    """The CPU's selectors, each behind a row of the table for a GPU."""

    def __init__(self, coverage: Selectors, numerics: str) -> None:
        self.coverage = coverage
        self.precision: Precision = cast("Precision", check_numerics(numerics))

    def __getitem__(self, instruction: type[Operation]) -> KernelSelector:
        coverage = self.coverage[instruction]

        def select(op: instr.InstructionOp, target: Target) -> Calls:
            machine = GPU_MACHINES.get(target.cpu)
            if machine is None:
                return coverage(op, target)
            found = threads_of(op, Choice(machine, self.precision))
            if not isinstance(found, str):
                return found
            if has_rows(op):
                name = op.name.removeprefix("instr.")
                raise GlowError(f"no kernel takes {name}: {found}", node=node_name(op))
            return coverage(op, target)

        return select

    def __iter__(self) -> Iterator[type[Operation]]:
        return iter(self.coverage)

    def __len__(self) -> int:
        return len(self.coverage)
