"""What nodes with fused element-wise work share: epilogue operands and the region."""

from __future__ import annotations

from math import prod
from typing import ClassVar, Literal

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_region_def, result_def, var_operand_def

from glow.dialects.glow.fused import verify_scalar_region
from glow.dialects.half import accumulator_of, rounds_sums
from glow.dialects.node import NodeOp, element_of, fail_unless, public_nodes, shape_of

OperandKind = Literal["full", "channel", "row", "scalar"]


def operand_kind(shape: tuple[int, ...], result: tuple[int, ...]) -> OperandKind | None:
    """How an operand of an epilogue is read, or None when it cannot be.

    `full`: one element for each result element; `channel`: one for each channel
    (the last axis of a matrix, block and lane of a blocked tensor); `row`: one for each
    row of a matrix; `scalar`: one.
    """
    if shape == result:
        return "full"
    if prod(shape) == 1:
        return "scalar"
    if len(result) == 5 and shape in (
        (1, result[1], 1, 1, result[4]),
        (result[1], 1, 1, result[4]),
    ):
        return "channel"
    if len(result) == 4 and shape in ((1, result[1], 1, 1), (result[1], 1, 1)):
        return "channel"
    if len(result) in (2, 3) and shape[-1] == result[-1] == prod(shape):
        return "channel"
    if len(result) in (2, 3) and shape == (*result[:-1], 1):
        return "row"
    return None


class EpilogueOp(NodeOp):
    """A node with epilogue operands and an optional epilogue region."""

    epilogue_operands = var_operand_def(TensorType)
    result = result_def(TensorType)
    epilogue = opt_region_def("single_block")

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """Sums in f32 may be rounded when they are stored."""
        return rounds_sums(inferred, chosen)

    @classmethod
    def accumulator(cls, stored: Attribute) -> Attribute:
        """The element type of the sums that the epilogue takes."""
        return accumulator_of(stored)

    @classmethod
    def kind_of_operand(
        cls, shape: tuple[int, ...], result: tuple[int, ...]
    ) -> OperandKind | None:
        """How an epilogue operand is read, or None when it cannot be one."""
        return operand_kind(shape, result)

    def verify_(self) -> None:
        """The epilogue takes the sum and its operands, which fit the result."""
        super().verify_()
        result = shape_of(self.result)
        for operand in self.epilogue_operands:
            fail_unless(
                self.kind_of_operand(shape_of(operand), result) is not None,
                lambda operand=operand: (
                    f"the epilogue operand {operand.type} fits neither the result "
                    f"{self.result.type} nor its channels"
                ),
            )
        if self.epilogue is None:
            fail_unless(
                not self.epilogue_operands, "epilogue operands need an epilogue region"
            )
            return
        element = element_of(self.result)
        verify_scalar_region(
            self.epilogue.block,
            [
                self.accumulator(element),
                *(operand.type for operand in self.epilogue_operands),
            ],
            [element],
        )


class ConvertingOp(EpilogueOp):
    """A node whose epilogue may store elements of any type, whatever it takes."""

    SUMS: ClassVar[Attribute]
    """The element type that the epilogue takes."""

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """The epilogue says what is stored."""
        return True

    @classmethod
    def accumulator(cls, stored: Attribute) -> Attribute:
        """The same for all elements that are stored."""
        return cls.SUMS


class WeightedOp(EpilogueOp):
    """A node with weights and a bias, epilogue operands and an optional epilogue region."""

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = operand_def(TensorType)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
