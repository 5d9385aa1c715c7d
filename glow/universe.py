"""Everything that our package registers with xDSL, in one lazy table.

Nothing here imports a dialect or a pass before it is used: `glow-opt --help` and plain
`xdsl-opt` (which finds `GLOW_UNIVERSE` through the `xdsl.universe` entry point) start
as fast as without us.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.transforms import get_all_passes
from xdsl.universe import XDSL_UNIVERSE, Universe

from glow.backends.backend import (
    OWN,
    Backend,
    DialectFactory,
    PassFactory,
    all_backends,
    get_backend,
    loaded_backends,
    reject_backend,
)
from glow.dialects.errors import GlowError, one_line
from glow.frontends import PASSES as FRONTEND_PASSES
from glow.lowering import PASSES as LOWERING_PASSES
from glow.lowering.loops_to_llvm import PASSES as LLVM_PASSES
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.graph.padding import PASSES as PADDING_PASSES
from glow.passes.graph.partition import PASSES as PARTITION_PASSES
from glow.passes.instr import PASSES as INSTR_PASSES
from glow.passes.quantization import PASSES as QUANTIZATION_PASSES

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

T = TypeVar("T")


def lower() -> Sequence[ModulePass]:
    """High-level nodes as primitives."""
    from glow.lowering.lower_nodes.lower_nodes import LowerNodesPass

    return [LowerNodesPass()]


def optimize() -> Sequence[ModulePass]:
    """What compiling does to a graph before it quantizes."""
    from glow.passes.graph.pipeline import OF_FLOATS, graph_passes

    return [one for one in graph_passes() if not isinstance(one, OF_FLOATS)]


PASS_GROUPS: dict[str, Callable[[], Sequence[ModulePass]]] = {
    "lower": lower,
    "optimize": optimize,
}
"""Names on the command line that stand for passes; options go to the first of them."""


RENAMED_PASSES = {
    "equalize-channels": "equalize-layers",
    "store-half": "fp16-storage",
    "widen-elements": "promote-types",
}
"""Earlier names, which `glow-opt` takes with a warning."""


def get_glow() -> Dialect:
    from glow.dialects.glow import Glow

    return Glow


def get_instr(backends: Callable[[], Sequence[Backend]] | None = None) -> Dialect:
    """Instructions on memory, those of the backends' nodes among them."""
    from glow.dialects.glow import NODES
    from glow.dialects.instr import instr_dialect

    chosen = installed_backends() if backends is None else backends()
    own = [factory() for factory in backend_dialects(chosen).values()]
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


def of_gpus(name: str) -> Dialect:
    """Of the dialects of kernels for many threads the one of a name."""
    from glow.dialects.gpu import Gpu, NvGpu, Nvvm

    return {each.name: each for each in (Gpu, NvGpu, Nvvm)}[name]


def get_amx() -> Dialect:
    from glow.dialects.x86.amx import Amx

    return Amx


def get_vector() -> Dialect:
    from glow.dialects.vector import Vector

    return Vector


def get_stablehlo() -> Dialect:
    from glow.dialects.stablehlo import StableHlo

    return StableHlo


def get_chlo() -> Dialect:
    from glow.dialects.stablehlo import Chlo

    return Chlo


def get_linalg() -> Dialect:
    from glow.dialects.linalg import Linalg

    return Linalg


def get_torch() -> Dialect:
    from glow.dialects.torch import Torch

    return Torch


def get_tosa() -> Dialect:
    from glow.dialects.tosa import Tosa

    return Tosa


def get_torch_c() -> Dialect:
    from glow.dialects.torch import TorchConversion

    return TorchConversion


def of_iree(name: str) -> Dialect:
    """Of IREE's dialects the one of a name."""
    from glow.dialects.foreign.iree import DIALECTS

    return DIALECTS[name]


SHARED_DIALECTS: dict[str, DialectFactory] = {
    "glow": get_glow,
    "instr": get_instr,
    "quant": get_quant,
}
"""Of all backends."""

REPLACED_DIALECTS: dict[str, DialectFactory] = {
    "arith": get_arith,
    "gpu": partial(of_gpus, "gpu"),
    "linalg": get_linalg,
    "llvm": get_llvm,
    "memref": get_memref,
    "tosa": get_tosa,
    "vector": get_vector,
}
"""Corrected versions of xDSL's dialects: for our contexts only, since the entry point
refuses a second dialect of one name."""

FOREIGN_DIALECTS: dict[str, DialectFactory] = {
    "amx": get_amx,
    "chlo": get_chlo,
    "flow": partial(of_iree, "flow"),
    "nvgpu": partial(of_gpus, "nvgpu"),
    "nvvm": partial(of_gpus, "nvvm"),
    "stablehlo": get_stablehlo,
    "stream": partial(of_iree, "stream"),
    "torch": get_torch,
    "torch_c": get_torch_c,
    "util": partial(of_iree, "util"),
}
"""Those of other projects that programs are imported from: for our contexts only, since
another package may bring them to xDSL's own tools."""


def backend_dialects(backends: Sequence[Backend]) -> dict[str, DialectFactory]:
    """The dialects of backends; raises GlowError where a name is taken."""
    taken = {**get_all_dialects(), **SHARED_DIALECTS}
    tables = {one.name: one.dialects() for one in backends}
    return _own(tables, taken, "dialect")


def _own(
    tables: Mapping[str, Mapping[str, Callable[[], T]]],
    taken: Collection[str],
    kind: str,
) -> dict[str, Callable[[], T]]:
    """What backends add; each name stands for one thing, which several may share."""
    own: dict[str, Callable[[], T]] = {}
    for backend, table in tables.items():
        for name, factory in table.items():
            first = own.setdefault(name, factory)
            is_other = first is not factory and first() is not factory()
            if name in taken or is_other:
                raise GlowError(
                    f"backend '{backend}': there is another {kind} '{name}'",
                    hint=f"its own {kind} needs another name",
                )
    return own


SHARED_PASSES: dict[str, PassFactory] = (
    FRONTEND_PASSES
    | GRAPH_PASSES
    | PADDING_PASSES
    | PARTITION_PASSES
    | QUANTIZATION_PASSES
    | INSTR_PASSES
    | LOWERING_PASSES
    | LLVM_PASSES
)
"""Those of no backend."""


def backend_passes(backends: Sequence[Backend]) -> dict[str, PassFactory]:
    """The passes of backends; raises GlowError where a name is taken."""
    tables = {one.name: one.passes() for one in backends}
    return _own(tables, {**get_all_passes(), **SHARED_PASSES}, "pass")


GLOW_DIALECTS: dict[str, DialectFactory] = {
    **SHARED_DIALECTS,
    **backend_dialects([get_backend(name) for name in OWN]),
}
"""Those of this package."""


def get_glow_passes(
    backends: Callable[[], Sequence[Backend]] = loaded_backends,
) -> dict[str, PassFactory]:
    """The factories of all passes by name, those of backends among them."""
    return SHARED_PASSES | backend_passes(backends())


def installed_backends() -> list[Backend]:
    """Ours and those of all packages, but for those whose names are taken.

    A warning names each of these, and those that cannot be loaded.
    """
    fitting = [get_backend(name) for name in OWN]
    for one in all_backends()[len(OWN) :]:
        try:
            backend_dialects([*fitting, one])
            backend_passes([*fitting, one])
            fitting.append(one)
        except GlowError as error:
            _warn(error.one_line())
            reject_backend(one.name, error)
    return fitting


def other_universes() -> Iterator[tuple[str, Universe]]:
    """Those of other packages, with whose they are; a warning names each that fails."""
    from glow.backends.entry_points import entry_points_of

    for point in entry_points_of("xdsl.universe"):
        if point.value.startswith("glow.universe:"):
            continue
        owner = f"'{point.name}' of {point.dist.name if point.dist else point.value}"
        try:
            one = cast(object, point.load())
        except Exception as error:  # Whatever another package raises.
            reason = one_line(f"{type(error).__name__}: {error}")
            _warn(f"xdsl.universe {owner} cannot be loaded: {reason}")
            continue
        if isinstance(one, Universe):
            yield owner, one
        else:
            _warn(f"xdsl.universe {owner} is no xdsl.universe.Universe")


def installed_universe() -> Universe:
    """What all packages give to xDSL, but for names that others have."""
    others = [XDSL_UNIVERSE]
    for owner, one in other_universes():
        if one is XDSL_UNIVERSE:
            continue
        tables = [(one.all_dialects, each.all_dialects) for each in others]
        tables += [(one.all_passes, each.all_passes) for each in others]
        taken = sorted(n for own, theirs in tables for n in own if n in theirs)
        if taken:
            _warn(f"xdsl.universe {owner} has '{taken[0]}', which another one has")
        else:
            others.append(one)
    others.append(_own_universe(others))
    found = Universe()
    for one in others:
        found.all_dialects |= one.all_dialects
        found.all_passes |= one.all_passes
        found.all_targets |= one.all_targets
    return found


def _warn(message: str) -> None:
    """Tell of a package, once however often all are looked for."""
    warnings.warn(message, RuntimeWarning, stacklevel=1)


def __getattr__(name: str) -> Universe:
    """`GLOW_UNIVERSE`, what xDSL's own tools know: made when one of them asks."""
    if name != "GLOW_UNIVERSE":
        raise AttributeError(name)
    return _own_universe([one for _, one in other_universes()])


def _own_universe(others: Sequence[Universe]) -> Universe:
    """That of this package and of backends, without what a package gives to xDSL itself."""
    backends = installed_backends()
    dialects, passes = backend_dialects(backends), backend_passes(backends)
    for other in others:
        dialects = {
            n: each for n, each in dialects.items() if n not in other.all_dialects
        }
        passes = {n: each for n, each in passes.items() if n not in other.all_passes}
    return Universe(
        all_dialects={**SHARED_DIALECTS, **dialects},
        all_passes={**SHARED_PASSES, **passes},
    )


def register_dialects(context: Context, universe: Universe | None = None) -> None:
    """Register xDSL's and our dialects in `context`, with our corrections.

    Those of all packages are among them: of a `universe` that is known already.
    """
    installed = (universe or installed_universe()).all_dialects
    dialects = {**installed, **REPLACED_DIALECTS, **FOREIGN_DIALECTS}
    for name, factory in dialects.items():
        context.register_dialect(name, factory)


def own_context() -> Context:
    """A context with xDSL's dialects, ours and those of loaded backends, which is all that
    imported graphs have.

    To find those of other packages takes longer than most passes.
    """
    context = Context()
    dialects = {**get_all_dialects(), **SHARED_DIALECTS, **REPLACED_DIALECTS}
    dialects["instr"] = partial(get_instr, loaded_backends)
    dialects |= backend_dialects(loaded_backends())
    for name, factory in dialects.items():
        context.register_dialect(name, factory)
    return context


def new_context() -> Context:
    """A context that knows every dialect that our tools read."""
    context = Context()
    register_dialects(context)
    return context
