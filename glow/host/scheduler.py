"""Which request is started when: as soon as a slot is free, joined where that pays.

A request that finds a free slot starts at once in the thread of its caller. One that does
not waits in the queue; whoever ends a request starts the next ones. So batches form only
while all slots are taken, of the requests that wait anyway, unless a model has a
`max_delay`. No thread belongs to the scheduler.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.host.batch_table import Backlog
from glow.host.deadlines import Deadlines
from glow.host.queue import RequestQueue
from glow.host.request import (
    ClosedError,
    DeadlineError,
    DeviceError,
    QueueFullError,
    Request,
)
from glow.host.served_model import CLOSED, ServedModel
from glow.host.tracing import NO_TRACE

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.network import Start
    from glow.host.request import Outputs
    from glow.host.ticket import Ticket
    from glow.host.tracing import Tracer

Clock = Callable[[], float]

SLACK = 1e-5
"""Seconds by which a request may start too early, so that one look at the end is enough."""

ENOUGH = 64
"""How many requests that wait are counted: more make no larger batches."""


@dataclass(frozen=True)
class Batch:
    """Requests that are run together, and the slot for them."""

    model: ServedModel
    tickets: Sequence[Ticket]
    """Empty where all were cancelled while the slot was taken."""
    start: Start
    first: Ticket
    """For whom the slot was taken."""


class Scheduler:
    """Starts requests; all methods are thread-safe."""

    def __init__(
        self,
        queue_limit: int,
        tracer: Tracer = NO_TRACE,
        clock: Clock = time.monotonic,
    ) -> None:
        self.tracer = tracer
        self.queue = RequestQueue(queue_limit)
        self.deadlines = Deadlines(self._expire)
        self.lock = threading.Lock()
        self._clock = clock
        self._idle = threading.Condition(self.lock)
        """Told when the last request of a model that is being removed ends."""
        self._here = threading.local()
        """Whether this thread is starting requests: it goes on with those that come up."""

    def submit(self, ticket: Ticket) -> None:
        """Start a request or let it wait; raises GlowError where it is refused."""
        model, deadline = ticket.model, ticket.request.deadline
        ticket.since = self._clock()
        ticket.is_batched = model.batching.is_joinable(ticket.inputs)
        with self.lock:
            model.check()
            batch = self._start_now(ticket)
            if batch is None:
                self._push(ticket)
            others = self.queue.size > 1 or model.batching.max_delay
            model.statistics.requests += 1
        if batch is not None:
            self._start(batch)
        elif others:  # Of which one may be free to start, before it.
            self.dispatch()
        if deadline is not None and not ticket.done():
            self.deadlines.add(ticket)

    def _start_now(self, ticket: Ticket) -> Batch | None:
        """A request alone in a slot; None where others wait already, or it may for others."""
        model = ticket.model
        if ticket.is_batched and model.batching.max_delay:
            return None
        if self.queue.size and (not self.queue.is_full or self.queue.waiting(model)):
            return None
        start = model.network.reserve()
        if start is None:
            return None
        ticket.set_running_or_notify_cancel()
        model.waited_since_idle = 0
        model.statistics.running += 1
        model.statistics.batches[1] += 1
        return Batch(model, (ticket,), start, ticket)

    def dispatch(self) -> None:
        """Start what waits and finds a slot."""
        if getattr(self._here, "is_starting", False):
            return
        self._here.is_starting = True
        try:
            while (batch := self._next()) is not None:
                self._start(batch)
        finally:
            self._here.is_starting = False

    def cancel(self, ticket: Ticket) -> None:
        """Let a request that was cancelled leave the queue."""
        with self.lock:
            self.queue.remove(ticket)
            ticket.model.statistics.cancelled += 1

    def remove(self, model: ServedModel) -> None:
        """Fail the requests that wait for a model; return when those that run have ended."""
        with self.lock:
            model.state = CLOSED
            left = self.queue.remove_all(model)
        for ticket in left:
            ticket.fail(ClosedError(f"the model '{model.name}' was removed"))
        with self.lock:
            while model.statistics.running:
                self._idle.wait()

    def lose(self, model: ServedModel) -> None:
        """Fail the requests that wait for a model that is on no device any more."""
        with self.lock:
            left = self.queue.remove_all(model)
            model.statistics.failed += len(left)
        for ticket in left:
            ticket.fail(model.lost())

    def _push(self, ticket: Ticket) -> None:
        try:
            self.queue.push(ticket)
        except QueueFullError:
            ticket.model.statistics.refused += 1
            raise

    def _next(self) -> Batch | None:
        """The requests that are to be started now, in the order of their turn."""
        with self.lock:
            for ticket in self.queue.heads():
                count = self._batch_size(ticket)
                start = ticket.model.network.reserve() if count else None
                if start is None:
                    continue
                return self._take(ticket, count, start)
        return None

    def _take(self, ticket: Ticket, count: int, start: Start) -> Batch:
        """A request and others that join it, those that were not cancelled."""
        now = self._clock()
        waiting = self.queue.take(ticket, count)
        tickets = [one for one in waiting if one.set_running_or_notify_cancel()]
        figures = ticket.model.statistics
        ticket.model.waited_since_idle += len(tickets)
        if tickets:
            figures.batches[len(tickets)] += 1
        figures.running += len(tickets)
        for one in tickets:
            one.waited = now - one.since
            figures.queue_seconds += one.waited
            one.since = now
        return Batch(ticket.model, tickets, start, ticket)

    def _batch_size(self, ticket: Ticket) -> int:
        """With how many others a request starts, itself among them; 0 if it waits for more."""
        if not ticket.is_batched:
            return 1
        policy = ticket.model.batching
        there = self.queue.group_size(ticket, ENOUGH)
        wait = ticket.since + policy.max_delay - self._clock()
        if wait > SLACK and there < policy.best(ticket.sizes):
            if not ticket.has_alarm:
                ticket.has_alarm = True
                self.deadlines.call_at(time.monotonic() + wait, self.dispatch)
            return 0
        devices = ticket.model.network.devices
        free = sum(max(0, one.slots - one.outstanding) for one in devices)
        slots = sum(one.slots for one in devices)
        backlog = Backlog(there, slots, ticket.model.waited_since_idle)
        return policy.fit(ticket, -(-there // max(free, 1)), backlog)

    def _start(self, batch: Batch) -> None:
        """Start requests in their slot."""
        if self.tracer.is_on:
            self._trace(batch)
        try:
            outputs = started(batch)
        except BaseException as error:
            self._fail(batch, error)
            return
        if not batch.tickets:
            return
        for ticket in batch.tickets:
            ticket.started = outputs
        outputs.add_done_callback(lambda done: self._finish(batch, done))

    def _trace(self, batch: Batch) -> None:
        """Note for how long requests have waited."""
        now = time.perf_counter_ns()
        for one in batch.tickets:
            of = "queue", batch.model.name, one.request.id
            begin = now - int(1e9 * one.waited)
            count = len(batch.tickets)
            self.tracer.record(of, begin, now, one.request.span, batch=count)

    def _finish(self, batch: Batch, done: Outputs) -> None:
        """Hand out the outputs of requests, and start the next."""
        try:
            outputs = done.result()
        except BaseException as error:
            if len(batch.tickets) > 1 and not isinstance(error, DeviceError):
                self._run_apart(batch)
            else:
                self._fail(batch, error)
        else:
            self._count(batch, "succeeded")
            self._hand_out(batch, outputs)
        for ticket in batch.tickets:
            ticket.let_go()
        self.dispatch()

    def _hand_out(self, batch: Batch, outputs: Sequence[Array]) -> None:
        """Tell each request its row of the outputs."""
        names, tickets = batch.model.output_names, batch.tickets
        if len(tickets) == 1:
            tickets[0].finish(names, outputs)
            return
        for number, ticket in enumerate(tickets):
            ticket.finish(names, [array[number : number + 1] for array in outputs])

    def _run_apart(self, batch: Batch) -> None:
        """Run requests one by one that failed together: one of them was at fault."""
        for ticket in batch.tickets:
            start = batch.model.network.start
            self._start(Batch(batch.model, (ticket,), start, ticket))

    def _fail(self, batch: Batch, error: BaseException) -> None:
        is_cancelled = isinstance(error, CancelledError)
        self._count(batch, "cancelled" if is_cancelled else "failed")
        for ticket in batch.tickets:
            ticket.fail(error)

    def _count(self, batch: Batch, what: str) -> None:
        """Count requests that have ended, unless they had expired before."""
        now = self._clock()
        tickets, figures = batch.tickets, batch.model.statistics
        ended = len(tickets) - sum(ticket.done() for ticket in tickets)
        with self.lock:
            figures.running -= len(tickets)
            setattr(figures, what, getattr(figures, what) + ended)
            for ticket in tickets:
                figures.compute_seconds += now - ticket.since
            if not figures.running and batch.model.state is CLOSED:
                self._idle.notify_all()

    def _expire(self, ticket: Ticket) -> None:
        """Fail a request whose deadline is over; what runs is no longer wanted."""
        with self.lock:
            self.queue.remove(ticket)
        if ticket.fail(DeadlineError(ticket.request)):
            with self.lock:
                ticket.model.statistics.expired += 1
        ticket.request.cancel()


def started(batch: Batch) -> Outputs:
    """The outputs of requests in their slot, which is given back where nobody wants them."""
    tickets, first = batch.tickets, batch.first
    if len(tickets) > 1:
        inputs = batch.model.batching.assemble(tickets)
        return batch.start(inputs, joint_request(tickets))
    if not tickets:
        first.request.cancel()
    return batch.start(first.inputs, first.request)


def joint_request(tickets: Sequence[Ticket]) -> Request:
    """The request of a batch, which goes on while anybody waits for it."""
    first = tickets[0].request
    name = "+".join(one.request.id for one in tickets)
    return Request(name, first.priority, span=first.span)
