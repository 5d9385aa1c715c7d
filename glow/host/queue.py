"""The requests that wait, those of higher priority first, then in the order they came.

The queue holds no lock: its owner (`scheduler.py`) does. A request that leaves from the
middle is only marked, and forgotten when its turn comes.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glow.host.request import QueueFullError

if TYPE_CHECKING:
    from glow.host.served_model import ServedModel
    from glow.host.ticket import Ticket

    Place = tuple[int, int, Ticket]
    """Minus the priority, the number in the order they came, and who it is."""

Sizes = tuple[tuple[int, ...], ...]


@dataclass
class Line:
    """The requests for one model."""

    places: list[Place] = field(default_factory=list["Place"])
    groups: dict[Sizes, list[Place]] = field(default_factory=dict[Sizes, "list[Place]"])
    """Those that may join in a batch, by the shapes of their inputs."""
    waiting: int = 0

    def head(self) -> Place | None:
        """Whose turn it is."""
        return _head(self.places)

    def group_size(self, ticket: Ticket, enough: int) -> int:
        """How many could join in a batch with this one, itself among them."""
        waiting = (1 for place in self.groups[ticket.sizes] if place[2].is_waiting)
        return sum(itertools.islice(waiting, enough))


class RequestQueue:
    """What waits, for all models of a host together."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many may wait."""
        self.limit = limit
        self.size = 0
        self._lines: dict[ServedModel, Line] = {}
        self._numbers = itertools.count()

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self.size >= self.limit

    def push(self, ticket: Ticket) -> None:
        """Let a request wait; raises QueueFullError where too many do."""
        if self.is_full:
            raise QueueFullError(self.limit)
        line = self._lines.setdefault(ticket.model, Line())
        place = (-ticket.request.priority, next(self._numbers), ticket)
        heapq.heappush(line.places, place)
        if ticket.is_batched:
            heapq.heappush(line.groups.setdefault(ticket.sizes, []), place)
        ticket.is_waiting = True
        line.waiting += 1
        self.size += 1

    def waiting(self, model: ServedModel) -> int:
        """How many wait for a model."""
        line = self._lines.get(model)
        return line.waiting if line else 0

    def heads(self) -> Iterator[Ticket]:
        """The first request for each model, those whose turn it is first."""
        heads = [head for line in self._lines.values() if (head := line.head())]
        for _, _, ticket in sorted(heads):
            yield ticket

    def group_size(self, ticket: Ticket, enough: int) -> int:
        """How many could join in a batch with this one, itself among them.

        Nobody counts further than `enough`. The ticket must be one that may join.
        """
        return self._lines[ticket.model].group_size(ticket, enough)

    def take(self, ticket: Ticket, count: int = 1) -> list[Ticket]:
        """A request that waits, and others with inputs of the same shapes: `count` in all."""
        line = self._lines[ticket.model]
        self.remove(ticket)
        taken = [ticket]
        group = line.groups.get(ticket.sizes)
        while group and len(taken) < count and (place := _head(group)):
            self.remove(place[2])
            taken.append(place[2])
        if group is not None and _head(group) is None:
            del line.groups[ticket.sizes]
        return taken

    def remove(self, ticket: Ticket) -> bool:
        """Let a request leave; False where it does not wait."""
        if not ticket.is_waiting:
            return False
        ticket.is_waiting = False
        self.size -= 1
        line = self._lines[ticket.model]
        line.waiting -= 1
        if not line.waiting:
            del self._lines[ticket.model]
        return True

    def remove_all(self, model: ServedModel) -> list[Ticket]:
        """Let all requests for a model leave."""
        line = self._lines.pop(model, Line())
        left = [ticket for _, _, ticket in line.places if ticket.is_waiting]
        for ticket in left:
            ticket.is_waiting = False
        self.size -= len(left)
        return left


def _head(places: list[Place]) -> Place | None:
    """The first that still waits; those that have left are forgotten."""
    while places and not places[0][2].is_waiting:
        heapq.heappop(places)
    return places[0] if places else None
