"""Which element types may be multiplied and summed up.

Kernels read all factors with the width of the first: types that differ would read beyond
a weight's bytes.
"""

from __future__ import annotations

from xdsl.utils.exceptions import VerifyException

from glow.dialects.glow.elementwise import check_numbers
from glow.dialects.half import accumulator_of
from glow.dialects.node import NodeOp, Types
from glow.dialects.quantized import any_quantized


def check_factors(cls: type[NodeOp], operands: Types) -> None:
    """Both factors have numbers of one type; a third operand adds to their sums.

    Quantized operands have rules of their own (`INTEGER_FORM`).
    """
    check_numbers(cls, operands[0])
    if any_quantized(operands):
        return
    element = operands[0].element_type
    if operands[1].element_type != element:
        raise VerifyException(
            f"operands must have one element type, not {operands[0]} and {operands[1]}"
        )
    for addend in operands[2:]:
        if addend.element_type not in (element, accumulator_of(element)):
            raise VerifyException(
                f"what is added to products of {element} must have such elements too, "
                f"not {addend}"
            )
