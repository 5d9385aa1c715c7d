"""Where the programs of a model end: what is known of earlier calls.

It imports no front end: a model whose programs are stored runs without one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from glow.open_sizes import InputShapes

if TYPE_CHECKING:
    from glow.dialects.weight_table import Array
    from glow.frontends.onnx.programs.starts import Start

Answers: TypeAlias = "Sequence[Mapping[str, Array]]"
"""The values by name that each program before has asked for, in order."""


class ProgramEnds:
    """Where the last programs of a model ended, so that none is imported again for the next.

    A network that finds another number of boxes in each image has a program behind each.
    """

    LIMIT = 16
    """Each may hold arrays that were computed at import."""

    def __init__(self) -> None:
        self._ends: OrderedDict[object, Start] = OrderedDict()

    def __reduce__(self) -> tuple[type[ProgramEnds], tuple[()]]:
        """It is stored empty."""
        return ProgramEnds, ()

    def find(self, shapes: InputShapes, answers: Answers) -> Start | None:
        """Where the program behind some answers ends, for inputs of some shapes."""
        return self._ends.get(self._key(shapes, answers))

    def keep(self, shapes: InputShapes, answers: Answers, end: Start) -> None:
        """Keep an end, in place of the one that was kept first where there are too many."""
        self._ends[self._key(shapes, answers)] = end
        while len(self._ends) > self.LIMIT:
            self._ends.popitem(last=False)

    @staticmethod
    def _key(shapes: InputShapes, answers: Answers) -> object:
        arrays = [array for values in answers for array in values.values()]
        told = [(array.shape, array.dtype, array.tobytes()) for array in arrays]
        return tuple(sorted(shapes.items())), tuple(told)
