"""What every kernel builder returns."""

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp


@dataclass(frozen=True)
class Kernel:
    """One kernel function and the size of its outermost parallel space.

    A call computes the items [%lo, %hi) of the `work_items` that there are; these are independent,
    and their results do not depend on how the space is cut.
    """

    function: FuncOp
    work_items: int
    runs: tuple[int, ...] = ()
    """Of how many equal runs each buffer consists that are cut as the space is: item k touches
    the k-th of `work_items` equal parts of each run and no other byte. 0 where that is not so, and
    for buffers that are not listed."""

    def runs_of(self, buffer: int) -> int:
        """The runs of a buffer."""
        return self.runs[buffer] if buffer < len(self.runs) else 0


def is_kernel(function: FuncOp) -> bool:
    """Whether a function has work items: what it takes ends in their bounds."""
    bounds = list(function.function_type.inputs)[-2:]
    is_bound = all(isinstance(type_, IndexType) for type_ in bounds)
    return bool(function.body.blocks) and len(bounds) == 2 and is_bound
