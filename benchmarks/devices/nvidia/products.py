"""The products that are measured, and the kernel that networks have for each; needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.assembler import machine_code
from glow.backends.cuda.kernel_assembly import KernelAssembly, stored_assembly
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    MatrixFactor,
    MatrixResult,
    Precision,
)
from glow.backends.cuda.kernels.skinny import SkinnySpec
from glow.backends.cuda.product import product_of
from glow.backends.cuda.ptx import assembly, kernel_text
from glow.backends.cuda.selection.choice import Choice
from glow.backends.cuda.selection.common import BiasEpilogue, ThreadRequest
from glow.backends.cuda.selection.product import SMALLEST, launch_product
from glow.backends.cuda.skinny_tiling import seconds_of
from glow.backends.cuda.tiling import tile_cost
from glow.dialects import arith
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.gpu_machine import GPU_MACHINES, GpuMachine
from glow.lowering.target.target import Target
from glow.runtime.caches.object_cache import ObjectCache, cache_key

LARGE, SKINNY_SIZES, SKINNY_ROWS = 4096, (4096, 8192), (1, 16)
ROTATED_BYTES = 200e6
"""Weights that launches go through in turn: four times the L2 of an H100."""
COPY_BYTES = 1 << 30

Array = np.ndarray[Any, np.dtype[Any]]


FORMATS: Mapping[str, tuple[Attribute, Any]] = {
    "bf16": (bf16, ml_dtypes.bfloat16),
    "f16": (f16, np.float16),
    "f32": (f32, np.float32),
    "i8": (i8, np.int8),
}
"""What is multiplied, for us and for NumPy."""
TOLERANCES: Mapping[str, float] = {"bf16": 1e-2, "f16": 2e-3, "f32": 3e-3, "i8": 0.0}


@dataclass(frozen=True)
class Case:
    """A product m x n x k, how we compute it, and settings of the peer."""

    format: str
    m: int
    n: int
    k: int
    gpu: str
    """That our code is for."""
    numerics: Precision
    peers: Sequence[bool] = (False,)
    """Whether it may multiply with TF32."""

    @property
    def name(self) -> str:
        """For the reports."""
        return f"product {self.format} {self.m}x{self.n}x{self.k}"

    @property
    def ours(self) -> str:
        """The name of our way."""
        words = f"ours {self.gpu}"
        return f"{words} {self.numerics}" if self.format == "f32" else words

    @property
    def tolerance(self) -> float:
        """The largest error that is no mistake, relative to the largest result."""
        if self.format == "f32" and self.numerics != "fast":
            return 1e-5
        return TOLERANCES[self.format]

    @property
    def dtype(self) -> Any:
        """NumPy's type of the factors."""
        return FORMATS[self.format][1]

    @property
    def is_skinny(self) -> bool:
        """Whether bytes are what it takes."""
        return self.m <= max(SKINNY_ROWS)

    @property
    def stored_size(self) -> int:
        """The bytes of a result."""
        return 4 if self.format == "i8" else np.dtype(self.dtype).itemsize

    @property
    def bytes(self) -> int:
        """What is read and written, each once."""
        size = np.dtype(self.dtype).itemsize
        factors = (self.m + self.n) * self.k * size
        return factors + self.m * self.n * self.stored_size

    @property
    def weight_copies(self) -> int:
        """How many copies of the weights launches go through."""
        size = self.n * self.k * np.dtype(self.dtype).itemsize
        return max(1, -(-int(ROTATED_BYTES) // size)) if self.is_skinny else 1

    @property
    def launches(self) -> int:
        """Those of a graph."""
        copies = self.weight_copies
        return copies * max(1, 20 // copies) if self.is_skinny else 5


def cases() -> Iterator[Case]:
    """All that are measured, the most wanted first."""
    cube = (LARGE, LARGE, LARGE)
    for gpu in ("sm_90a", "sm_90"):
        for name in ("bf16", "f16"):
            yield Case(name, *cube, gpu, "default")
    yield Case("f32", *cube, "sm_90a", "exact")
    for gpu, numerics in (
        ("sm_90a", "default"),
        ("sm_90a", "fast"),
        ("sm_90", "fast"),
    ):
        yield Case("f32", *cube, gpu, cast("Precision", numerics), [False, True])
    yield Case("i8", *cube, "sm_90a", "default")
    for name in ("bf16", "f32"):
        for size in SKINNY_SIZES:
            for rows in SKINNY_ROWS:
                yield Case(name, rows, size, size, "sm_90a", "default")


def spec_of(case: Case) -> ContractionSpec:
    """The contraction that a network has for such weights: a bias, and its numbers stored."""
    element = FORMATS[case.format][0]
    sums = i32 if element == i8 else f32
    behind = None
    if element in (f16, bf16):

        def rounded(b: LoopBuilder, x: SSAValue) -> SSAValue:
            return b.cast(arith.TruncFOp, x, element)

        region = ScalarRegion.trace(rounded, [f32])
        behind = RegionEpilogue(region, ())
    return ContractionSpec(
        1,
        case.m,
        case.n,
        case.k,
        MatrixFactor(1, case.m, case.k, True, element),
        MatrixFactor(1, case.n, case.k, True, element),
        MatrixResult(1, case.m, case.n),
        SMALLEST,
        case.numerics if element == f32 else "exact",
        BiasEpilogue(sums, behind),
    )


@dataclass(frozen=True)
class Chosen:
    """The kernel that is chosen, and what the cost model says of it."""

    request: ThreadRequest
    seconds: float
    tile: str


def chosen(case: Case) -> Chosen:
    """The kernel of a product."""
    machine = GPU_MACHINES[case.gpu]
    (call,) = launch_product(spec_of(case), Choice(machine, case.numerics), [])
    request = cast("ThreadRequest", call.kernel)
    spec = cast("tuple[object, ...]", request.spec)[-1]
    seconds, tile = cost_of(spec, machine)
    return Chosen(request, seconds, tile)


def cost_of(spec: object, machine: GpuMachine) -> tuple[float, str]:
    """The model's seconds of a product, and how it is cut, in a few words."""
    if isinstance(spec, SkinnySpec):
        how = f"skinny {spec.columns} columns" + (" shared depth" * spec.shares_depth)
        return seconds_of(spec, machine), how
    assert isinstance(spec, ContractionSpec)
    tile = spec.tile
    cost = tile_cost(product_of(spec), tile, machine)
    kind = type(tile).__name__.removesuffix("Tile").lower()
    how = f"{kind} {tile.rows}x{tile.columns}x{tile.depth} {tile.stages} stages"
    return (cost.seconds if cost else float("nan")), how


def assembled(found: Chosen, gpu: str) -> KernelAssembly:
    """The kernel as PTX, from the cache on disk where it is known; needs no GPU."""
    target, cache = Target.from_string(gpu), ObjectCache()
    key = cache_key(f"product {found.request.spec!r}", target)
    if (entry := cache.load(key)) is not None:
        return stored_assembly(entry[0])
    text = kernel_text(found.request, target)
    made = replace(text.assembled, text=assembly(text.text, target))
    cache.store(key, [made.stored()])
    return made


def warm(case: Case) -> None:
    """Put the kernels of a case into the caches; needs no GPU.

    Raises GlowError for one that is rejected.
    """
    machine_code(assembled(chosen(case), case.gpu).text, case.gpu)
