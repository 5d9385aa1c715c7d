"""What every kernel builder returns."""

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp


@dataclass(frozen=True)
class Kernel:
    """One kernel function and the size of its outermost parallel space.

    A call computes positions [%lo, %hi) of the `slices` there are; slices are independent and
    their results do not depend on how the space is cut.
    """

    function: FuncOp
    slices: int
