"""Random attentions: the kernel of each, its arguments, and the interpreter's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from support.gpu.contraction_cases import DTYPES, FINISHES, TARGET, Finish, epilogue_of
from xdsl.dialects.builtin import bf16, f16, f32, i8
from xdsl.ir import Attribute

from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.backends.cuda.kernels.attention import build_attention
from glow.backends.cuda.kernels.attention_spec import AttentionSpec, AttentionTile
from glow.backends.cuda.kernels.contraction_spec import Precision
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.strided import StridedFactor, StridedResult
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.universe import new_context

Array = np.ndarray
FORMATS: list[tuple[Attribute, Precision, float]] = [
    (f32, "exact", 2e-6),
    (f32, "default", 4e-6),
    (f32, "fast", 3e-3),
    (f16, "exact", 1e-3),
    (bf16, "exact", 8e-3),
]
"""Element, precision, and the largest error relative to the largest result: weights of 16 bits
are rounded to these."""
MASKS = ("none", "added", "causal", "bytes", "rows", "causal and added")


class Sizes(NamedTuple):
    """The extents of an attention."""

    batch: int
    heads: int
    rows: int
    keys: int
    depth: int
    columns: int


@dataclass
class AttentionCase:
    """An attention with its arguments, [batch, heads, ..., ...] each."""

    spec: AttentionSpec
    sizes: Sizes
    inputs: list[Array]
    """Queries, keys and values, which the element type holds exactly."""
    stored: list[Array]
    """The buffers of these and of the mask."""
    mask: Array | None
    """All that is added to scores, [batch, 1, rows, keys]."""
    tolerance: float
    finish: Finish | None
    operands: list[Array]

    @property
    def kernel(self) -> GpuKernel:
        """The kernel, checked."""
        kernel = build_attention(self.spec, TARGET, "attention")
        kernel.module.verify()
        return kernel

    def expected(self) -> Array:
        """The interpreter's attention, through the epilogue."""
        inputs = [*self.inputs, *([] if self.mask is None else [self.mask])]
        types = [f"tensor<{'x'.join(map(str, x.shape))}xf32>" for x in inputs]
        s = self.sizes
        result = f"tensor<{s.batch}x{s.heads}x{s.rows}x{s.columns}xf32>"
        arguments = ", ".join(f"%{k}: {type_}" for k, type_ in enumerate(types))
        names = ", ".join(f"%{k}" for k in range(len(types)))
        text = (
            f"func.func @main({arguments}) -> {result} {{\n"
            f" %y = glow.attention {names} scale {self.spec.scale:e} : {result}\n"
            f" func.return %y : {result}\n}}"
        )
        with np.errstate(all="ignore"):
            (found,) = run(parse_text(new_context(), text, "case.mlir"), inputs)
        return (
            found if self.finish is None else self.finish.meaning(found, *self.operands)
        )

    def buffers(self) -> list[Array]:
        """The arguments of the kernel; nothing is in the result."""
        result = self.spec.buffers[0]
        out = np.full(result.get_shape(), -77, DTYPES[result.element_type])
        return [out, *(x.reshape(-1) for x in self.stored), *self.operands]

    def simulate(self) -> tuple[Array, Report]:
        """What the kernel writes, [batch, heads, rows, columns], and what it cost."""
        buffers = self.buffers()
        report = run_kernel(self.kernel.function, buffers)
        return self.results(buffers[0]), report

    def results(self, buffer: Array) -> Array:
        """The results in their buffer: heads beside each other, a query behind the other."""
        s = self.sizes
        return buffer.reshape(s.batch, s.rows, s.heads, s.columns).swapaxes(1, 2)


def heads_apart(extents: tuple[int, ...], element: Attribute) -> StridedFactor:
    """Matrices [batch, heads, rows, columns], dense."""
    batch, heads, rows, columns = extents
    size = rows * columns
    strides = Strides((heads * size, size), columns, 1)
    return StridedFactor((batch, heads), rows, columns, strides, element)


def heads_beside(extents: tuple[int, ...], element: Attribute) -> StridedFactor:
    """The same in a buffer [batch, rows, heads, columns]."""
    batch, heads, rows, columns = extents
    row = heads * columns
    strides = Strides((rows * row, columns), row, 1)
    return StridedFactor((batch, heads), rows, columns, strides, element)


def transposed(factor: StridedFactor) -> StridedFactor:
    """The factor whose outer positions are columns of matrices."""
    old = factor.strides
    strides = Strides(old.batch, old.column, old.row)
    return StridedFactor(
        factor.batch, factor.depth, factor.outer, strides, factor.element
    )


def mask_of(
    name: str, random: np.random.Generator, sizes: Sizes
) -> tuple[StridedFactor | None, Array | None, Array | None, int | None]:
    """How a mask is read, its buffer, what it adds to scores, and the offset of a causal one."""
    s = sizes
    shape = (s.batch, 1, s.rows, s.keys)
    added, factor, stored, causal = np.zeros(shape, np.float32), None, None, None
    if "causal" in name:
        causal = int(random.integers(-2, max(1, s.keys - s.rows) + 2))
        seen = np.arange(s.keys) <= np.arange(s.rows)[:, None] + causal
        added = added + np.where(seen, 0, -np.inf).astype(np.float32)
    strides = Strides((s.rows * s.keys, 0), s.keys, 1)
    if "added" in name:
        stored = random.standard_normal(shape).astype(np.float32)
        stored[random.random(shape) < 0.2] = -np.inf
        stored[:, :, 0] = -3.4028235e38
        added = added + stored
        factor = StridedFactor((s.batch, s.heads), s.rows, s.keys, strides, f32)
    if name == "bytes":
        stored = (random.random(shape) < 0.6).astype(np.int8)
        stored[:, :, -1] = 0
        added = np.where(stored != 0, 0, -np.inf).astype(np.float32)
        factor = StridedFactor((s.batch, s.heads), s.rows, s.keys, strides, i8)
    if name == "rows":
        stored = (random.random((s.batch, 1, 1, s.keys)) < 0.7).astype(np.int8)
        added = np.where(stored != 0, 0, -np.inf).astype(np.float32) + added
        strides = Strides((s.keys, 0), 0, 1)
        factor = StridedFactor((s.batch, s.heads), s.rows, s.keys, strides, i8)
    return factor, stored, None if name == "none" else added, causal


def fixed_attention(
    number: int, sizes: Sizes, mask: str, tile: AttentionTile | None = None
) -> AttentionCase:
    """An attention of such sizes in the format of a number; keys of some lie transposed."""
    random = np.random.default_rng(number)
    element, precision, tolerance = FORMATS[number % len(FORMATS)]
    s, dtype = sizes, DTYPES[element]
    lead = (s.batch, s.heads)
    shapes = [
        (*lead, s.rows, s.depth),
        (*lead, s.keys, s.depth),
        (*lead, s.keys, s.columns),
    ]
    inputs = [
        random.standard_normal(x).astype(dtype).astype(np.float32) for x in shapes
    ]
    stored = [x.swapaxes(1, 2) for x in inputs[:1]] + [
        inputs[1],
        inputs[2].swapaxes(1, 2),
    ]
    keys = heads_apart(shapes[1], element)
    if number % 2:
        keys = transposed(heads_apart((*lead, s.depth, s.keys), element))
        stored[1] = inputs[1].swapaxes(2, 3)
    factor, buffer, added, causal = mask_of(mask, random, s)
    buffers = [np.ascontiguousarray(x.astype(dtype)) for x in stored]
    finish = FINISHES["none" if number % 3 else "channel"]
    beside = heads_beside((*lead, s.rows, s.columns), f32)
    spec = AttentionSpec(
        heads_beside(shapes[0], element),
        keys,
        transposed(heads_beside(shapes[2], element)),
        StridedResult(beside.batch, s.rows, s.columns, beside.strides),
        tile or AttentionTile(32, 32, 2 + number % 2),
        scale=float(np.float32(s.depth**-0.5)),
        mask=factor,
        causal=causal,
        precision=precision,
        epilogue=epilogue_of(finish),
    )  # fmt: skip
    types = spec.sums.buffers[3:]
    operands = [random.standard_normal(t.get_shape()).astype(np.float32) for t in types]
    buffers += [] if buffer is None else [buffer]
    return AttentionCase(
        spec, sizes, inputs, buffers, added, tolerance, finish, operands
    )


def random_attention(number: int) -> AttentionCase:
    """The attention of a number: each format with each mask, odd sizes and tails."""
    random = np.random.default_rng(1000 + number)
    batch, heads = (int(x) for x in random.integers(1, 3, 2))
    rows, keys = int(random.integers(1, 70)), int(random.integers(1, 100))
    if number % 7 == 6:
        keys = 1
    depth, columns = (int(x) for x in random.integers(1, 66, 2))
    if number % 4 == 0:
        depth, columns = 16 * -(-depth // 16), 16 * -(-columns // 16)
    sizes = Sizes(batch, heads, rows, keys, depth, columns)
    return fixed_attention(number, sizes, MASKS[number % len(MASKS)])
