"""Which kernel serves which instruction, one table a theme.

A selector reads an instruction's shapes and attributes and returns the kernel requests
with their buffers. A row is for the instruction of a node, or for one without a node.

A theme's module, and the kernels that it chooses between, are loaded when a network has the
first instruction of the theme: all of them would take a twentieth of the time to compile a
small network. `THEMES` says without loading them what rows there are.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module

from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.kernel_table import KernelRows, Selectors
from glow.backends.cpu.program.program import Invocation, KernelSelector, Repetition
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import node_name
from glow.dialects.quantized import any_quantized
from glow.lowering.target.target import Target
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES

THEMES: Mapping[str, Sequence[type[Operation]]] = {
    "elementwise": (
        *SCALAR_BODIES,
        *CASTS,
        cpu.RequantizeOp,
        instr.StackedOp,
        instr.SplatOp,
    ),
    "convolution": (
        cpu.Conv2dOp,
        cpu.SparseConv2dOp,
        cpu.WinogradConv2dOp,
        cpu.DepthwiseConv2dOp,
        cpu.GroupedConv2dOp,
        cpu.PlainConv2dOp,
        glow.Conv2dOp,
        glow.MaxPool2dOp,
        glow.AvgPool2dOp,
        glow.ArgMaxPool2dOp,
        cpu.PackOp,
        cpu.UnpackOp,
    ),
    "matmul": (
        cpu.MatmulOp,
        cpu.BlockQuantizedMatmulOp,
        cpu.Int8BlockQuantizedMatmulOp,
        cpu.AttentionOp,
        cpu.BatchMatmulOp,
        cpu.IndexedMatmulOp,
        cpu.IndexedBlockMatmulOp,
        cpu.StrassenCombinationsOp,
        cpu.StrassenMatmulOp,
        glow.FullyConnectedOp,
        glow.MatmulOp,
        glow.LuOp,
    ),
    "integers": (
        cpu.Int8Conv2dOp,
        cpu.Int8WinogradConv2dOp,
        cpu.Int8DepthwiseConv2dOp,
        cpu.Int8SumPool2dOp,
        cpu.Int8MatmulOp,
        cpu.Int8BatchMatmulOp,
    ),
    "normalization": (
        glow.SoftmaxOp,
        glow.LogSoftmaxOp,
        glow.LayerNormOp,
        cpu.SoftmaxOp,
        cpu.LayerNormOp,
        cpu.FusedRowsOp,
        glow.LocalResponseNormOp,
        cpu.LocalResponseNormOp,
        glow.ReduceSumOp,
        glow.ReduceMeanOp,
        glow.ReduceMaxOp,
        glow.ReduceMinOp,
        glow.ReduceProdOp,
        glow.ArgMaxOp,
        glow.ArgMinOp,
    ),
    "movement": (
        instr.CopyOp,
        instr.InsertOp,
        glow.SliceOp,
        glow.BroadcastOp,
        glow.TransposeOp,
        glow.PadOp,
        glow.GatherOp,
        glow.SampleOp,
        glow.GatherElementsOp,
        cpu.EmbeddingLookupOp,
        glow.LengthsSumOp,
        glow.LengthsMaxOp,
    ),
    "indexing": (
        glow.GatherNDOp,
        glow.ScatterOp,
        glow.CumulativeOp,
        glow.TopKOp,
        glow.CompactOp,
        glow.SelectBoxesOp,
    ),
    "dynamic": (cpu.PerRowQuantizeOp, cpu.BlockQuantizeOp, cpu.RowRangeOp),
    "recurrence": (cpu.RecurrenceOp,),
    "weights": (cpu.PackWeightsOp, cpu.UnpackWeightsOp, cpu.Conv2dWeightGradientOp),
}
"""The keys of the table `SELECTORS` of each module here."""


def themed(theme: str, key: type[Operation]) -> KernelSelector:
    """A theme's selector, for instructions on numbers: ours know no scales and zero points."""

    def select(
        op: instr.InstructionOp, target: Target
    ) -> Sequence[Invocation | Repetition]:
        if any_quantized(op.operand_types):
            name = op.name.removeprefix("instr.")
            raise GlowError(
                f"the cpu backend computes {name} of plain integers, not quantized ones",
                node=node_name(op),
            )
        return import_module(f"{__name__}.{theme}").SELECTORS[key](op, target)

    return select


SELECTORS: Selectors = KernelRows(
    {key: themed(theme, key) for theme, keys in THEMES.items() for key in keys}
)
