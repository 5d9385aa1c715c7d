"""From the loops level (scf, vector, memref, arith, math, func) to the llvm dialect.

Comes in: functions on static memrefs with structured loops and n-D vectors.
Goes out: one `llvm.func` per function, n-D vectors as lists of registers.

One walk, one table: `RULES` in `rules.py` maps each op class to the function that
lowers it, no pattern rewriting. Index values are affine forms and emit nothing; views
emit nothing; an address term is emitted in the loop that defines its variable. That is
hoisting, common subexpressions and strength reduction for free, and why no LLVM pass is
needed afterwards.
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_pass, lazy_passes

PASSES = {
    **lazy_passes("glow.lowering.loops_to_llvm", "verify_loops"),
    "loops-to-llvm": lazy_pass(
        "glow.lowering.loops_to_llvm.convert_loops_to_llvm", "ConvertLoopsToLlvmPass"
    ),
}
"""Pass name to factory."""
