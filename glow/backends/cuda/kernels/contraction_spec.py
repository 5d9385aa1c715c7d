"""What a contraction is: C[b, m, n] = the sum over k of A[b, m, k] B[b, k, n].

A factor says where its elements lie. So a convolution is a matmul with another address
function: k is a channel and a tap of the window, n a pixel of an image of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from xdsl.dialects.builtin import IntegerType, MemRefType, f32, i32
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.gpu_builder import WARP, copied_elements
from glow.dialects.gpu.warpgroups import ROWS, WARPGROUP
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.index_builder import Condition, Index

Pair = tuple[int, int]


class Place(NamedTuple):
    """Where an element lies, and whether it is there: zeros are around an image.

    `available`: how many there are from it on, where a copy may take more.
    """

    indices: Sequence[Index]
    valid: Condition = True
    available: Index | None = None


class Factor(Protocol):
    """One factor: `outer` is m of the first, n of the second."""

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer."""
        ...

    @property
    def is_depth_contiguous(self) -> bool:
        """Whether k + 1 lies behind k; else outer + 1 lies behind outer."""
        ...

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take."""
        ...

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element lies, of those inside of the extents."""
        ...


@dataclass(frozen=True)
class MatrixFactor:
    """A dense matrix [batch, outer, depth], or [batch, depth, outer] if transposed.

    `is_shared`: all batches have the same, [1, ...].
    """

    batch: int
    outer: int
    depth: int
    is_depth_contiguous: bool
    element: Attribute = f32
    is_shared: bool = False

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer."""
        row = (self.outer, self.depth)
        shape = row if self.is_depth_contiguous else row[::-1]
        return types.memref_type(
            (1 if self.is_shared else self.batch, *shape), self.element
        )

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take."""
        extent = self.depth if self.is_depth_contiguous else self.outer
        return copied_elements(extent, self.element)

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element lies."""
        place = (outer, depth) if self.is_depth_contiguous else (depth, outer)
        return Place([0 if self.is_shared else batch, *place])


@dataclass(frozen=True)
class ImageFactor:
    """The windows of images [images, groups * channels, *size] as a factor of a product.

    A batch is a group; outer is (image, row, column) of the result, depth is (channel, row,
    column) of the window. Window rows are `strides` apart, taps `dilations`; `pads` zeros are
    above and to the left.
    """

    images: int
    groups: int
    channels: int
    size: Pair
    kernel: Pair
    out: Pair
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pair = (0, 0)
    element: Attribute = f32
    is_depth_contiguous = False

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer."""
        shape = (self.images, self.groups * self.channels, *self.size)
        return types.memref_type(shape, self.element)

    @property
    def is_pointwise(self) -> bool:
        """Whether a window is one pixel, and pixels lie as those of the result."""
        ones = (self.kernel, self.strides) == ((1, 1), (1, 1))
        return ones and self.pads == (0, 0) and self.out == self.size

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take: whole rows where a window is a pixel."""
        if self.is_pointwise:
            return copied_elements(self.out[1], self.element)
        return 1

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element lies, and whether it is inside of its image."""
        image, *pixel = b.unflatten(outer, (self.images, *self.out))
        channel, *tap = b.unflatten(depth, (self.channels, *self.kernel))
        channel = b.add(b.mul(batch, self.channels), channel)
        indices, valid = [image, channel], True
        for axis in range(2):
            moved = b.mul(tap[axis], self.dilations[axis])
            first = b.sub(b.mul(pixel[axis], self.strides[axis]), self.pads[axis])
            position = b.add(first, moved)
            if not self.is_inside(axis):
                valid = b.both(valid, b.compare("ult", position, self.size[axis]))
            if self.pads[axis]:  # As `BlockedImage` says.
                position = b.maximum(position, 0)
            indices.append(position)
        return Place(indices, valid)

    def is_inside(self, axis: int) -> bool:
        """Whether all windows are inside of the image along an axis."""
        reach = (self.kernel[axis] - 1) * self.dilations[axis]
        last = (self.out[axis] - 1) * self.strides[axis] - self.pads[axis] + reach
        return self.pads[axis] == 0 and last < self.size[axis]


class Results(Protocol):
    """Where results go."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's."""
        ...

    @property
    def channels(self) -> int:
        """The values of a "channel" operand."""
        ...

    @property
    def row_extent(self) -> int:
        """The columns that lie in a row."""
        ...

    def locate(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> list[Index]:
        """The indices of a result."""
        ...

    def channel(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> Index:
        """The position in a "channel" operand."""
        ...

    @property
    def has_channel_columns(self) -> bool:
        """Whether the next column is of the next channel; else all of a row are of one."""
        ...


@dataclass(frozen=True)
class MatrixResult:
    """Results [batch, m, n]; "channel" operands of epilogues have a value a column."""

    batch: int
    rows: int
    columns: int
    has_channel_columns = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's."""
        return (self.batch, self.rows, self.columns)

    @property
    def channels(self) -> int:
        """The values of a "channel" operand."""
        return self.columns

    @property
    def row_extent(self) -> int:
        """The columns that lie in a row."""
        return self.columns

    def locate(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> list[Index]:
        """The indices of a result."""
        return [batch, m, n]

    def channel(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> Index:
        """The position in a "channel" operand."""
        return n


@dataclass(frozen=True)
class ImageResult:
    """Results [images, groups * m, pixels], n = image * pixels + pixel, a channel a group's m."""

    images: int
    groups: int
    rows: int
    pixels: int
    has_channel_columns = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's."""
        return (self.images, self.groups * self.rows, self.pixels)

    @property
    def channels(self) -> int:
        """The values of a "channel" operand."""
        return self.groups * self.rows

    @property
    def row_extent(self) -> int:
        """The pixels that lie in a row."""
        return self.pixels

    def locate(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> list[Index]:
        """The indices of a result."""
        image, pixel = b.unflatten(n, (self.images, self.pixels))
        return [image, self.channel(b, batch, m, n), pixel]

    def channel(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> Index:
        """The position in a "channel" operand."""
        return b.add(b.mul(batch, self.rows), m)


@dataclass(frozen=True)
class GpuTile:
    """What a block of threads computes: `rows` x `columns` results, `depth` steps at a time.

    The threads stand as `warps`; `stages` tiles of each factor are in shared memory.
    """

    rows: int
    columns: int
    depth: int
    warps: Pair
    stages: int = 3

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.warps[0] * self.warps[1] * WARP

    @property
    def warp_rows(self) -> int:
        """The rows of a warp."""
        return self.rows // self.warps[0]

    @property
    def warp_columns(self) -> int:
        """The columns of a warp."""
        return self.columns // self.warps[1]


@dataclass(frozen=True)
class WarpgroupTile(GpuTile):
    """A tile that warpgroups multiply, each one or more times 64 rows.

    The warps that multiply stand one below the other, (4 groups, 1).
    """

    is_mapped: bool = True
    """Whether one warp more copies tiles by tensor maps; else all threads copy."""

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return super().threads + (WARP if self.is_mapped else 0)

    @property
    def groups(self) -> int:
        """The warpgroups."""
        return self.warps[0] * WARP // WARPGROUP

    @property
    def parts(self) -> int:
        """How many times 64 rows a warpgroup multiplies, one below the other."""
        return self.rows // (ROWS * self.groups)


class ZeroPoints(NamedTuple):
    """The zero points of two dynamic int8 operands, a buffer behind them: [2] of i32."""

    first: bool
    """Whether that of the first may be another than 0."""
    second: bool
    is_unsigned: bool
    """Whether the bytes of the second factor are."""


Precision = Literal["exact", "default", "fast"]
"""Of f32: fused multiply-adds, three products of TF32, or one."""


@dataclass(frozen=True)
class ContractionSpec:
    """A contraction of `batch` products m x n x k.

    Arguments of the kernel: C, A, B, the zero points, then the epilogue's operands.
    """

    batch: int
    m: int
    n: int
    k: int
    a: Factor
    b: Factor
    result: Results
    tile: GpuTile
    precision: Precision = "exact"
    epilogue: Epilogue | None = None
    padding: int = 0
    """The byte around images of the first factor."""
    is_unsigned: bool = False
    """Whether the bytes of the first factor are unsigned."""
    points: ZeroPoints | None = None

    @property
    def is_second_unsigned(self) -> bool:
        """Whether the bytes of the second factor are unsigned."""
        return self.points is not None and self.points.is_unsigned

    @property
    def element(self) -> Attribute:
        """The type of the factors."""
        return self.a.type.element_type

    @property
    def sum_element(self) -> Attribute:
        """The type of the sums."""
        return i32 if isinstance(self.element, IntegerType) else f32

    @property
    def has_tensor_cores(self) -> bool:
        """Whether tensor cores multiply; else threads do."""
        return self.element != f32 or self.precision != "exact"

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks along n, along m, and the batch."""
        return (
            -(-self.n // self.tile.columns),
            -(-self.m // self.tile.rows),
            self.batch,
        )

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        epilogue = self.epilogue
        stored = self.sum_element if epilogue is None else epilogue.result_element
        result = types.memref_type(self.result.shape, stored)
        shapes = {
            "full": self.result.shape,
            "channel": (self.result.channels,),
            "row": (self.m,),
            "scalar": (1,),
        }
        layouts = () if epilogue is None else epilogue.operand_layouts
        elements = () if epilogue is None else epilogue.operand_elements
        operands = [
            types.memref_type(shapes[layout], element)
            for layout, element in zip(layouts, elements, strict=True)
        ]
        points = [] if self.points is None else [types.memref_type((2,), i32)]
        return [result, self.a.type, self.b.type, *points, *operands]
