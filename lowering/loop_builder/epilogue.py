"""What a kernel builder asks of the element-wise work fused into its stores."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

OperandLayout = Literal["full", "channel", "row", "scalar"]
"""How an operand of an epilogue is laid out.

`full`: like the kernel's output, read at the same positions; `channel`: one value per output
channel, [OCB, lanes] beside a blocked output and [OC] beside a plain one; `row`: one value per row
of a matrix; `scalar`: one element, a memref of shape [1].
"""


class Epilogue(Protocol):
    """Element-wise work on a register tile just before it is stored.

    Implementations are hashable, because kernels are shared by equal specs. Tiles may overlap,
    so a `full` operand must not alias the output.
    """

    @property
    def operand_layouts(self) -> tuple[OperandLayout, ...]:
        """The inputs that `apply` takes besides the accumulator, in argument order."""
        ...

    @property
    def operand_elements(self) -> tuple[Attribute, ...]:
        """The element types of those inputs."""
        ...

    @property
    def result_element(self) -> Attribute:
        """The element type of the values to store."""
        ...

    @property
    def is_long(self) -> bool:
        """Whether it needs many registers for each element, as exponentials do."""
        ...

    def apply(
        self,
        builder: LoopBuilder,
        accumulator: SSAValue,
        epilogue_operands: Sequence[SSAValue],
    ) -> SSAValue:
        """The value to store; all operands and the result have the accumulator's shape."""
        ...


def operand_types(
    epilogue: Epilogue | None, full: MemRefType, channel: MemRefType, rows: int = 1
) -> list[MemRefType]:
    """The buffer types of an epilogue's operands."""
    if epilogue is None:
        return []
    shapes = {
        "full": full.get_shape(),
        "channel": channel.get_shape(),
        "row": (rows,),
        "scalar": (1,),
    }
    kinds = zip(epilogue.operand_layouts, epilogue.operand_elements, strict=True)
    return [types.memref_type(shapes[layout], element) for layout, element in kinds]


def stored_type(epilogue: Epilogue | None, sums: MemRefType) -> MemRefType:
    """The buffer type in which sums of that type are stored."""
    element = sums.element_type if epilogue is None else epilogue.result_element
    return types.memref_type(sums.get_shape(), element)


def row_of_epilogue(
    b: LoopBuilder,
    epilogue: Epilogue | None,
    value: SSAValue,
    epilogue_operands: Sequence[SSAValue],
    row: Index,
    position: Index,
) -> SSAValue:
    """What to store of a row's elements [length] from a position on.

    Operands: "full" [rows, extent], "channel" [extent], "scalar" [1].
    """
    if epilogue is None:
        return value
    (length,) = types.shape_of(value)

    def read(kind: OperandLayout, buffer: SSAValue) -> SSAValue:
        if kind == "full":
            return b.vector_load(length, buffer, row, position)
        if kind == "channel":
            return b.vector_load(length, buffer, position)
        return b.broadcast(b.number(buffer), (length,))

    pairs = zip(epilogue.operand_layouts, epilogue_operands, strict=True)
    return epilogue.apply(b, value, [read(*pair) for pair in pairs])


Reader = Callable[[SSAValue], SSAValue]
"""Reads an operand at a tile, with the accumulator's type."""


def apply_epilogue(
    b: LoopBuilder,
    epilogue: Epilogue | None,
    accumulator: SSAValue,
    epilogue_operands: Sequence[SSAValue],
    *,
    full: Reader,
    channel: Reader,
) -> SSAValue:
    """The value to store for an accumulator, its operands read by their layouts."""
    if epilogue is None:
        return accumulator
    shape = types.shape_of(accumulator)

    def scalar(buffer: SSAValue) -> SSAValue:
        value = b.number(buffer)
        return b.broadcast(value, shape) if shape else value

    readers = {"full": full, "channel": channel, "scalar": scalar}
    values = [
        readers[layout](buffer)
        for layout, buffer in zip(
            epilogue.operand_layouts, epilogue_operands, strict=True
        )
    ]
    return epilogue.apply(b, accumulator, values)
