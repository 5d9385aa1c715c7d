"""Everything that our package registers with xDSL, in one lazy table.

Nothing here imports a dialect or a pass before it is used: `glow-opt --help` and plain
`xdsl-opt` (which finds `GLOW_UNIVERSE` through the `xdsl.universe` entry point) start
as fast as without us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.universe import Universe

from glow.backends.backend import (
    OWN,
    Backend,
    DialectFactory,
    PassFactory,
    all_backends,
    get_backend,
    loaded_backends,
)
from glow.lowering import PASSES as LOWERING_PASSES
from glow.lowering.loops_to_llvm import PASSES as LLVM_PASSES
from glow.passes.graph import FUSE_ACTIVATION
from glow.passes.graph import GRAPH_PASSES as GRAPH_PIPELINE
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.instr import PASSES as INSTR_PASSES
from glow.passes.quantization import PASSES as QUANTIZATION_PASSES

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


def get_instr(backends: Callable[[], Sequence[Backend]] = all_backends) -> Dialect:
    """Instructions on memory, those of the backends' nodes among them."""
    from glow.dialects.glow import NODES
    from glow.dialects.instr import instr_dialect

    own = [factory() for one in backends() for factory in one.dialects().values()]
    nodes = [node for dialect in own for node in dialect.operations]
    return instr_dialect([*NODES, *nodes])


def get_quant() -> Dialect:
    from glow.dialects.quant import Quant

    return Quant


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
    **{
        name: factory
        for backend in OWN
        for name, factory in get_backend(backend).dialects().items()
    },
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
    """The factories of all passes by name, those of loaded backends among them."""
    shared = (
        GRAPH_PASSES
        | QUANTIZATION_PASSES
        | INSTR_PASSES
        | LOWERING_PASSES
        | LLVM_PASSES
    )
    for backend in loaded_backends():
        shared |= backend.passes()
    return shared


GLOW_UNIVERSE = Universe(all_dialects=GLOW_DIALECTS, all_passes=get_glow_passes())


def register_dialects(context: Context) -> None:
    """Register xDSL's and our dialects in `context`, with our corrections.

    Those of all backends that are installed are among them.
    """
    dialects = {**Universe.get_multiverse().all_dialects, **REPLACED_DIALECTS}
    for backend in all_backends():
        dialects |= backend.dialects()
    for name, factory in dialects.items():
        context.register_dialect(name, factory)


def own_context() -> Context:
    """A context with xDSL's dialects, ours and those of loaded backends, which is all that
    imported graphs have.

    To find those of other packages takes longer than most passes.
    """
    context = Context()
    dialects = {**get_all_dialects(), **GLOW_DIALECTS, **REPLACED_DIALECTS}
    dialects["instr"] = partial(get_instr, loaded_backends)
    for backend in loaded_backends():
        dialects |= backend.dialects()
    for name, factory in dialects.items():
        context.register_dialect(name, factory)
    return context


def new_context() -> Context:
    """A context that knows every dialect that our tools read."""
    context = Context()
    register_dialects(context)
    return context
