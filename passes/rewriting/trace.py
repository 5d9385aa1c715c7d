"""What passes tell about their work while somebody listens.

    with listening() as trace:
        run_passes(...)
    trace.rewrites          # how often each rewrite changed something
    trace.fusions           # what went into what, and why something did not
    trace.seconds           # how long each pass took

Nobody listens in a normal run, and nothing is recorded then.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects.node import node_name


@dataclass(frozen=True)
class Fusion:
    """An operation that became part of another, or did not for a `reason`."""

    part: str
    whole: str
    reason: str | None = None


@dataclass
class Trace:
    """What was recorded."""

    rewrites: Counter[str] = field(default_factory=Counter[str])
    fusions: dict[Fusion, None] = field(default_factory=dict[Fusion, None])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Of each pass, over all its runs."""


@dataclass
class PassClock:
    """The callback of xDSL's `PassPipeline` that fills `Trace.seconds`."""

    trace: Trace
    started: float = 0.0

    def __call__(
        self, previous: ModulePass | None, _: ModuleOp, following: ModulePass | None
    ) -> None:
        if previous is not None:
            spent = time.perf_counter() - self.started
            seconds = self.trace.seconds
            seconds[previous.name] = seconds.get(previous.name, 0.0) + spent
        self.started = time.perf_counter()


_LISTENER: ContextVar[Trace | None] = ContextVar("listener", default=None)


@contextmanager
def listening() -> Generator[Trace]:
    """A trace of everything that happens inside."""
    trace = Trace()
    token = _LISTENER.set(trace)
    try:
        yield trace
    finally:
        _LISTENER.reset(token)


def pass_clock() -> PassClock | None:
    """What takes the time of passes, while somebody listens."""
    trace = _LISTENER.get()
    return None if trace is None else PassClock(trace)


def fused(part: Operation, whole: Operation, reason: str | None = None) -> None:
    """Record that an operation becomes part of another, or why it does not."""
    trace = _LISTENER.get()
    if trace is None:
        return
    fusion = Fusion(_described(part), _described(whole), reason)
    if fusion.part != fusion.whole:  # else both were made from one node
        trace.fusions[fusion] = None


def _described(op: Operation) -> str:
    """The network's name of an operation, else what it is."""
    return node_name(op) or op.name


def counted(rewrite: Callable[[Operation], None], op: Operation) -> None:
    """Rewrite an operation, and count it if that changed something."""
    trace = _LISTENER.get()
    if trace is None:
        rewrite(op)
        return
    before = (op.parent, tuple(op.operands), dict(op.properties), len(op.results))
    rewrite(op)
    after = (op.parent, tuple(op.operands), dict(op.properties), len(op.results))
    if after != before:
        trace.rewrites[rewrite.__name__] += 1


def rewrote(name: str) -> None:
    """Record that a rewrite changed something."""
    trace = _LISTENER.get()
    if trace is not None:
        trace.rewrites[name] += 1
