"""A ReLU in front of a rescaling to a range that starts at 0 is what saturation does.

    %1 = glow.relu %0 : tensor<4x!quant.uniform<u8:f32, 0.5:8>>
    %2 = glow.rescale %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  becomes
    %2 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>

The rescaling does more than change the scale then. So this is for networks that come quantized,
whose rescalings stay where they are: `fold-rescale` would drop the bound with one of them.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.passes.quantization.casts import element, lowest_is_zero
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import erase_dead_nodes
from glow.passes.rewriting.operations import all_operations


def absorb_relu(op: glow.RescaleOp) -> bool:
    """Let a rescaling read what a ReLU reads, if its own saturation gives the same."""
    owner, target = op.input.owner, element(op.results[0])
    if not isinstance(owner, glow.ReluOp) or op.multiplier is not None:
        return False
    (source,) = owner.inputs
    if target is None or not lowest_is_zero(target) or source.type != op.input.type:
        return False
    op.operands[0] = source
    return True


def absorb_relus(module: ModuleOp) -> None:
    """Absorb in program order."""
    changed = False
    for op in all_operations(module):
        if isinstance(op, glow.RescaleOp):
            changed |= absorb_relu(op)
    if changed:
        erase_dead_nodes(module)


class AbsorbRelusPass(ModulePass):
    """Drop ReLUs in front of rescalings that saturate at 0."""

    name = "absorb-relus"
    preserves = BITS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        absorb_relus(op)
