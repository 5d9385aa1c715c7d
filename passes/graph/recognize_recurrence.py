"""Finds recurrent layers in loops.

JAX's scans, and networks that come as loops, spell the cell out:

    %last, %all = scf.for %i = %0 to %7 step %1 iter_args(%h = %first, %s = %zero) {
      %x = glow.dynamic_slice %input, %i
      %1 = glow.matmul %x, %w
      %2 = glow.matmul %h, %r
      %3 = glow.add %1, %2
      %4 = glow.tanh %3
      %5 = glow.dynamic_update %s, %4, %i
      scf.yield %4, %5
    }
  becomes
    %all, %last = glow.rnn %input, %w2, %r2, %bias, %first2

with the weights arranged as the node has them. What counts is what the body computes, not how
it is spelled (`recurrence/cells.py`): gates in any order, in one product or several, products
with the input before the loop, and time from the end. Other loops stay.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from glow.passes.rewriting.contract import VALUES, GraphPass


class RecognizeRecurrencePass(GraphPass):
    """Find LSTM, GRU and RNN layers in loops."""

    name = "recognize-recurrence"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        loops = [one for one in op.walk() if isinstance(one, scf.ForOp)]
        if not loops:
            return
        from glow.passes.graph.recurrence.layer import recognize_recurrence

        for one in loops:
            if one.parent is not None:
                recognize_recurrence(one)
