"""Traces of requests: what servers, queues and devices did for whom, and when.

    tracer = Tracer()
    with glow.Host("cpu", tracer=tracer) as host:
        ...
    tracer.write("host.trace.json")          # for chrome://tracing or ui.perfetto.dev

A span is a piece of time on a lane: one lane a device, others for protocols and the queue.
It has the id of its request, and knows its parent by the words of W3C's Trace Context
(https://www.w3.org/TR/trace-context/), so that the spans of a request are one tree over all
lanes, which may begin with a caller on another machine.

    with tracer.span("http", "infer", request_id, parent=parse_traceparent(header)) as span:
        host.run(..., request_id=request_id, span=span.context)

The latest `limit` events are kept, and how many were forgotten is told. `NO_TRACE` keeps
nothing: what would be costly to tell is only found out while `tracer.is_on`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from glow.host.trace_events import Event, SpanContext, new_id
from glow.host.trace_file import trace_text
from glow.runtime.atomic_output import atomic_path

if TYPE_CHECKING:
    import os

LIMIT = 200_000
"""Events that a tracer keeps: some 130 MB at most."""


class Span:
    """A piece of time that has begun; it ends with its block, or by `end` in any thread."""

    __slots__ = ("_event", "_token", "_tracer")

    def __init__(self, tracer: Tracer, event: Event | None) -> None:
        """Without an event it is none: nothing is kept, or named as a parent."""
        self._tracer = tracer
        self._event = event
        self._token: Token[Span | None] | None = None

    @property
    def context(self) -> SpanContext | None:
        """What children name as their parent, also after the end."""
        return None if self._event is None else self._event.context

    @property
    def tracer(self) -> Tracer:
        """Who keeps it."""
        return self._tracer

    @property
    def lane(self) -> str:
        """Where it is shown."""
        return "" if self._event is None else self._event.lane

    @property
    def request_id(self) -> str:
        """Whose it is."""
        return "" if self._event is None else self._event.request_id

    def end(self, **arguments: object) -> None:
        """Note the end, and more that is known by now; a second end has no effect."""
        event = self._event
        if event is not None and event.end is None:
            event.end = time.perf_counter_ns()
            if arguments:
                event.arguments = {**event.arguments, **arguments}
            self._tracer.keep(event)

    @contextmanager
    def around(self) -> Generator[None]:
        """A block that the span is the parent of, and that does not end it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def __enter__(self) -> Self:
        """The span, which is the parent of those that begin in the block."""
        if self._event is not None:
            self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, and name the error that ends the block."""
        if self._token is not None:
            _current.reset(self._token)
            self._token = None
        if error is None:
            self.end()
        else:
            self.end(error=f"{type(error).__name__}: {error}")


_current: ContextVar[Span | None] = ContextVar("glow_span", default=None)


def current_span() -> Span | None:
    """The innermost span whose block this thread, or task of asyncio, is in."""
    return _current.get()


class Tracer:
    """Keeps the latest events; all methods are thread-safe."""

    is_on = True
    """Whether anything is kept."""

    def __init__(self, limit: int = LIMIT, *, kernels: bool = False) -> None:
        """`kernels` asks for the times of kernels too, where a backend tells them."""
        self.kernels = kernels
        self._events: deque[Event] = deque(maxlen=limit)
        self._count = 0
        self._lock = Lock()

    @property
    def dropped(self) -> int:
        """How many events were forgotten, since later ones took their place."""
        with self._lock:
            return self._count - len(self._events)

    def events(self) -> list[Event]:
        """The events that are kept, in the order in which they ended."""
        with self._lock:
            return list(self._events)

    def span(
        self,
        lane: str,
        name: str,
        request_id: str = "",
        parent: SpanContext | None = None,
        **arguments: object,
    ) -> Span:
        """A span that begins now, a child of `parent` or of the block that it is made in.

        A request without an id is known by that of its trace.
        """
        around = current_span()
        if parent is None and around is not None:
            parent = around.context
        context = _child_of(parent)
        known, now = request_id or context.trace_id, time.perf_counter_ns()
        return Span(
            self, Event(lane, name, known, now, None, context, parent, arguments)
        )

    def record(
        self,
        span: tuple[str, str, str],
        begin: int,
        end: int | None,
        parent: SpanContext | None = None,
        **arguments: object,
    ) -> SpanContext:
        """Note what has been: lane, name and request, and times of `time.perf_counter_ns`."""
        context = _child_of(parent)
        self.keep(Event(*span, begin, end, context, parent, arguments))
        return context

    def instant(
        self,
        lane: str,
        name: str,
        request_id: str = "",
        parent: SpanContext | None = None,
        **arguments: object,
    ) -> None:
        """Note something that has no duration: a refusal, a restart."""
        now = time.perf_counter_ns()
        self.record((lane, name, request_id), now, None, parent, **arguments)

    def keep(self, event: Event) -> None:
        """Keep an event that has ended."""
        with self._lock:
            self._events.append(event)
            self._count += 1

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write what is kept as JSON for Chrome and Perfetto, whole or not at all."""
        with self._lock:
            events, count = list(self._events), self._count
        with atomic_path(Path(path)) as temporary:
            text = trace_text(events, count - len(events))
            temporary.write_text(text, encoding="utf-8")


class _NoTracer(Tracer):
    """Keeps nothing."""

    is_on = False

    def __init__(self) -> None:
        super().__init__(0)
        self._nothing = Span(self, None)

    def span(
        self,
        lane: str,
        name: str,
        request_id: str = "",
        parent: SpanContext | None = None,
        **arguments: object,
    ) -> Span:
        return self._nothing

    def keep(self, event: Event) -> None:
        return


def _child_of(parent: SpanContext | None) -> SpanContext:
    """The context of a new span, which begins a trace where it has no parent."""
    if parent is None:
        return SpanContext(new_id(128), new_id(64))
    return parent.child()


NO_TRACE: Tracer = _NoTracer()
"""What hosts have unless they are given another."""
