"""Whether requests join in batches, and how: by what was measured for this very model.

On a CPU a batch pays where weights are what is read (short sequences, products of a matrix
and a vector, recurrent layers), and costs where they are not (convolutions). So nothing is
assumed: `batch_table.py` measures, for the sizes that requests have, how many requests a
second batches of 1, 2, 4 and 8 do on one core, and only those are formed that do more.

Only single requests join, [1, ...] in all inputs and outputs, of a network whose one open
batch size leads all of them, and whose rows do not depend on each other: that is checked
with the measurement, to 1e-4 of the largest value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from glow.dialects.errors import GlowError
from glow.host.batch_table import BATCH_SIZES, BatchTable
from glow.open_sizes import UNNAMED
from glow.specialized_model import SpecializedModel

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.batch_table import Backlog
    from glow.host.queue import Sizes
    from glow.host.ticket import Ticket
    from glow.specialized_model import RunnableModel

Measure = Callable[["SpecializedModel", Sequence["Array"]], BatchTable]
"""The table of a model for inputs like these, those of one request."""

Later = Callable[[Callable[[], None]], None]
"""Has something done by another thread."""


AGAIN_SECONDS = 60.0
"""After so many a table of a busy machine is measured again, if requests wait then."""


def why_not(model: RunnableModel) -> str:
    """Why requests for a model cannot join, as far as its shapes tell; else nothing."""
    if not isinstance(model, SpecializedModel):
        return "the network has no open batch size"
    for info in (*model.inputs, *model.outputs):
        if not info.shape or not isinstance(info.shape[0], str):
            return f"no open size leads '{info.name}'"
    leading = {info.shape[0] for info in model.inputs if info.shape}
    if len(leading) > 1:
        return f"the inputs begin with different sizes, {', '.join(map(str, leading))}"
    inner = {one for info in model.inputs for one in (info.shape or ())[1:]}
    shared = (leading & inner) - {UNNAMED}
    return f"'{shared.pop()}' is not only a batch size" if shared else ""


class BatchPolicy:
    """How requests for a model join; the methods that the scheduler calls take no time."""

    def __init__(
        self,
        model: RunnableModel | None,
        measure: Measure,
        later: Later,
        max_delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`later` runs measurements; `max_delay` are seconds to wait for others to join.

        There are no batches without a model, which is none that runs as a whole.
        """
        self.reason = why_not(model) if model else "the network is divided"
        """Why there are no batches; empty where there may be some."""
        self.max_delay = max_delay
        self._model = model if isinstance(model, SpecializedModel) else None
        self._dtypes = [info.dtype for info in model.inputs] if model else []
        self._measure = measure
        self._later = later
        self._clock = clock
        self._tables: dict[Sizes, BatchTable] = {}
        self._again: dict[Sizes, float] = {}
        """When sizes are measured again, whose tables a busy machine has disturbed."""
        self._asked: set[Sizes] = set()
        self._lock = Lock()

    def turn_off(self, reason: str) -> None:
        """Form no batches, and tell why."""
        self.reason = reason

    def is_joinable(self, inputs: Sequence[Array]) -> bool:
        """Whether a request may join others: single, and as the network wants it."""
        if self.reason:
            return False
        for array, dtype in zip(inputs, self._dtypes, strict=True):
            if type(array) is not np.ndarray or array.dtype != dtype:
                return False
            if not array.ndim or array.shape[0] != 1:
                return False
        return True

    def fit(self, ticket: Ticket, most: int, backlog: Backlog) -> int:
        """The best batch of at most `most` that needs no compiler.

        Where sizes are new that is 1, and they are measured meanwhile.
        """
        if most < 2 or self._model is None:
            return 1
        sizes = ticket.sizes
        table = self._tables.get(sizes)
        if table is None or self._clock() >= self._again.get(sizes, inf):
            self._ask(sizes, ticket.inputs)
        if table is None:
            return 1
        best = most if self.max_delay else table.best_of(most, backlog)
        for size in reversed([one for one in table.paying if one <= best]):
            if size == 1 or self._is_ready(sizes, size):
                return size
            self._ask(sizes, ticket.inputs)
        return 1

    def best(self, sizes: Sizes) -> int:
        """The batch that does most requests a second; 1 while that is not known."""
        table = self._tables.get(sizes)
        return table.best if table else 1

    def assemble(self, tickets: Sequence[Ticket]) -> list[Array]:
        """The inputs of a batch, in memory that the network reads: one copy of each."""
        count, assembled = len(tickets), list[np.ndarray]()
        for number, first in enumerate(tickets[0].inputs):
            joined = np.empty((count, *first.shape[1:]), first.dtype)
            for row, ticket in enumerate(tickets):
                joined[row] = ticket.inputs[number][0]
            assembled.append(joined)
        return assembled

    def measure_now(self, inputs: Sequence[Array]) -> None:
        """Measure for inputs like these, those of one request."""
        if self._model is None or self.reason:
            return
        sizes = tuple([array.shape for array in inputs])
        try:
            table = self._measure(self._model, inputs)
        except GlowError as error:
            self.turn_off(f"batches cannot be measured: {error}")
            return
        finally:
            with self._lock:
                self._asked.discard(sizes)
        if not table.is_exact:
            self.turn_off("the results of a request depend on others in its batch")
        with self._lock:
            self._tables[sizes] = table
            self._again.pop(sizes, None)
            if not table.is_sure:
                self._again[sizes] = self._clock() + AGAIN_SECONDS

    def forget(self) -> bool:
        """Let go of the programs of batches; whether there were some."""
        if self._model is None:
            return False
        with self._lock:
            tables, self._tables = self._tables, {}
        for sizes in tables:
            forget_batches(self._model, sizes, [1])
        return any(table.best > 1 for table in tables.values())

    def figures(self) -> Mapping[str, object] | str:
        """Requests a second by batch, by the shapes of inputs; or why there are no batches."""
        if self.reason:
            return self.reason
        with self._lock:
            return {str(sizes): table.rates() for sizes, table in self._tables.items()}

    def _ask(self, sizes: Sizes, inputs: Sequence[Array]) -> None:
        """Have sizes measured, and programs made for them, unless somebody has asked."""
        with self._lock:
            if sizes in self._asked:
                return
            self._asked.add(sizes)
        copies = [array.copy() for array in inputs]
        self._later(lambda: self.measure_now(copies))

    def _is_ready(self, sizes: Sizes, count: int) -> bool:
        """Whether the program of a batch is kept; else it is made again for later ones."""
        assert self._model is not None
        shapes = [(count, *shape[1:]) for shape in sizes]
        return self._model.is_ready(shapes)


def forget_batches(model: SpecializedModel, sizes: Sizes, kept: Sequence[int]) -> None:
    """Let go of the programs of batches but for some sizes; these are inputs' of a request."""
    for size in BATCH_SIZES:
        if size not in kept:
            model.forget([(size, *shape[1:]) for shape in sizes])
