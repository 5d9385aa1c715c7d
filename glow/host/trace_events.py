"""Events of a trace, and the words of W3C's Trace Context for whose children they are.

https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

SAMPLED = 1
"""The flag of W3C's Trace Context which says that the caller records."""

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)


@dataclass(frozen=True, slots=True)
class SpanContext:
    """What the children of a span know of it, in any process."""

    trace_id: str
    """32 hexadecimal digits, the same for all spans of a request."""
    span_id: str
    """16 hexadecimal digits."""
    flags: int = SAMPLED
    state: str = ""
    """The header `tracestate`, which is passed on as it came."""

    @property
    def traceparent(self) -> str:
        """The header that tells a server whose child it is."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    def child(self) -> SpanContext:
        """The context of a new span of the same trace."""
        return SpanContext(self.trace_id, new_id(64), self.flags, self.state)


def parse_traceparent(header: str | None, state: str = "") -> SpanContext | None:
    """The caller's span by the headers `traceparent` and `tracestate`.

    None for a header that is missing or wrong: then a trace of its own begins, as the
    specification says.
    """
    found = _TRACEPARENT.fullmatch((header or "").strip())
    if found is None or found["version"] == "ff":
        return None
    if found["version"] == "00" and found["more"]:
        return None
    if not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    flags = int(found["flags"], 16) & SAMPLED
    return SpanContext(found["trace"], found["span"], flags, state)


def new_id(bits: int) -> str:
    """A random number other than 0 in hexadecimal digits."""
    return f"{random.getrandbits(bits) or 1:0{bits // 4}x}"


@dataclass(slots=True)
class Event:
    """What happened on a lane."""

    lane: str
    name: str
    request_id: str
    begin: int
    """In nanoseconds of `time.perf_counter_ns`."""
    end: int | None
    """None for what has no duration."""
    context: SpanContext
    parent: SpanContext | None
    arguments: Mapping[str, object]
