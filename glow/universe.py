"""Everything that our package registers with xDSL, in one lazy table.

Nothing here imports a dialect or a pass before it is used: `glow-opt --help` and plain
`xdsl-opt` (which finds `GLOW_UNIVERSE` through the `xdsl.universe` entry point) start
as fast as without us.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from glow.backends.cpu.passes import PASSES as CPU_PASSES
from glow.lowering import PASSES as LOWERING_PASSES
from glow.lowering.loops_to_llvm import PASSES as LLVM_PASSES
from glow.passes.graph import FUSE_ACTIVATION
from glow.passes.graph import GRAPH_PASSES as GRAPH_PIPELINE
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.instr import PASSES as INSTR_PASSES
from glow.passes.quantization import PASSES as QUANTIZATION_PASSES

DialectFactory = Callable[[], Dialect]
PassFactory = Callable[[], type[ModulePass]]

PASS_GROUPS: dict[str, tuple[str, ...]] = {
    "lower": ("lower-nodes",),
    "optimize": tuple(name for name in GRAPH_PIPELINE if name != FUSE_ACTIVATION),
}
"""Names that stand for a list of passes; options go to the first of them.

`optimize` is what compiling does to a graph before it quantizes: activations are fused
behind that, since one that stands alone becomes a table.
"""


def get_glow() -> Dialect:
    from glow.dialects.glow import Glow

    return Glow


def get_instr() -> Dialect:
    from glow.dialects.instr import Instr

    return Instr


def get_quant() -> Dialect:
    from glow.dialects.quant import Quant

    return Quant


def get_cpu() -> Dialect:
    from glow.backends.cpu.dialect import Cpu

    return Cpu


def get_arith() -> Dialect:
    from glow.dialects.arith import Arith

    return Arith


def get_llvm() -> Dialect:
    from glow.dialects.llvm import LLVM

    return LLVM


def get_memref() -> Dialect:
    from glow.dialects.memref import MemRef

    return MemRef


def get_vector() -> Dialect:
    from glow.dialects.vector import Vector

    return Vector


GLOW_DIALECTS: dict[str, DialectFactory] = {
    "glow": get_glow,
    "instr": get_instr,
    "quant": get_quant,
    "cpu": get_cpu,
}

REPLACED_DIALECTS: dict[str, DialectFactory] = {
    "arith": get_arith,
    "llvm": get_llvm,
    "memref": get_memref,
    "vector": get_vector,
}
"""Corrected versions of xDSL's dialects: for our contexts only, since the entry point
refuses a second dialect of one name."""


def get_glow_passes() -> dict[str, PassFactory]:
    """The factories of all our passes by name."""
    return (
        GRAPH_PASSES
        | QUANTIZATION_PASSES
        | INSTR_PASSES
        | LOWERING_PASSES
        | LLVM_PASSES
        | CPU_PASSES
    )


GLOW_UNIVERSE = Universe(all_dialects=GLOW_DIALECTS, all_passes=get_glow_passes())


def register_dialects(context: Context) -> None:
    """Register xDSL's and our dialects in `context`, with our corrections."""
    dialects = Universe.get_multiverse().all_dialects | REPLACED_DIALECTS
    for name, factory in dialects.items():
        context.register_dialect(name, factory)


def own_context() -> Context:
    """A context with xDSL's dialects and ours, which is all that imported graphs have.

    To find those of other packages takes longer than most passes.
    """
    context = Context()
    for name, factory in (
        get_all_dialects() | GLOW_DIALECTS | REPLACED_DIALECTS
    ).items():
        context.register_dialect(name, factory)
    return context


def new_context() -> Context:
    """A context that knows every dialect that our tools read."""
    context = Context()
    register_dialects(context)
    return context
