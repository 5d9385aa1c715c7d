"""Events of a tracer as the JSON that chrome://tracing and ui.perfetto.dev read.

A lane is a process there, and has as many tracks as spans overlap on it: a device that runs
two requests shows them one below the other. A span lies on the track of its parent, inside
of it, where that is on the same lane; where it is on another, an arrow leads to it.
The format is "Trace Event Format" of the Chromium project: complete events (X), instants (i),
names of processes and threads (M), flows (s, f).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.host.trace_events import Event

    Fields = dict[str, object]

FIRST_LANES = ("http", "grpc", "host", "queue")
"""Lanes that are shown above the devices, in this order."""


def trace_text(events: Sequence[Event], dropped: int) -> str:
    """The JSON of events, and how many more there were."""
    return json.dumps(
        {
            "traceEvents": list(trace_events(events)),
            "displayTimeUnit": "ns",
            "otherData": {"dropped events": dropped},
        },
        default=str,
    )


def trace_events(events: Sequence[Event]) -> Iterator[Fields]:
    """The events of the file, times in microseconds since the first."""
    start = min((event.begin for event in events), default=0)
    tracks = tracks_of(events)
    names = sorted({event.lane for event in events}, key=_lane_order)
    lanes = {name: number for number, name in enumerate(names)}
    yield from _names(lanes, {(event.lane, tracks[id(event)]) for event in events})
    spans = {event.context.span_id: event for event in events}
    places = {id(event): (lanes[event.lane], tracks[id(event)]) for event in events}
    for event in events:
        yield _event(event, places[id(event)], start)
        parent = event.parent and spans.get(event.parent.span_id)
        if parent and parent.lane != event.lane:
            yield from _flow(parent, event, places, start)


def _names(
    lanes: Mapping[str, int], tracks: Iterable[tuple[str, int]]
) -> Iterator[Fields]:
    for name, number in lanes.items():
        yield _metadata("process_name", number, 0, name=name)
        yield _metadata("process_sort_index", number, 0, sort_index=number)
    for name, track in sorted(tracks):
        title = name if track == 0 else f"{name} ({track + 1})"
        yield _metadata("thread_name", lanes[name], track, name=title)


def tracks_of(events: Sequence[Event]) -> dict[int, int]:
    """The track of each event by its `id`: those of one track nest, or do not meet."""
    tracks: dict[str, list[list[Event]]] = {}
    by_span = {event.context.span_id: event for event in events}
    found: dict[int, int] = {}
    for event in sorted(events, key=lambda e: (e.begin, -_end(e))):
        own = tracks.setdefault(event.lane, [])
        parent = event.parent and by_span.get(event.parent.span_id)
        number = _first_free(own, event, parent)
        if number == len(own):
            own.append([])
        own[number].append(event)
        found[id(event)] = number
    return found


def _first_free(
    tracks: Sequence[list[Event]], event: Event, parent: Event | None
) -> int:
    """The number of the track for an event: its parent's, if it fits in there."""
    free = None
    for number, opened in enumerate(tracks):
        while opened and _end(opened[-1]) <= event.begin:
            opened.pop()
        if parent and opened and parent is opened[-1] and _end(event) <= _end(parent):
            return number
        if free is None and not opened:
            free = number
    return len(tracks) if free is None else free


def _lane_order(name: str) -> tuple[int, str]:
    order = FIRST_LANES.index(name) if name in FIRST_LANES else len(FIRST_LANES)
    return order, name


def _end(event: Event) -> int:
    return event.begin if event.end is None else event.end


def _event(event: Event, place: tuple[int, int], start: int) -> Fields:
    arguments: Fields = {"request": event.request_id, "trace": event.context.trace_id}
    arguments["span"] = event.context.span_id
    if event.parent is not None:
        arguments["parent"] = event.parent.span_id
    fields: Fields = {
        "name": event.name,
        "cat": event.lane,
        "ts": (event.begin - start) / 1e3,
        "pid": place[0],
        "tid": place[1],
        "args": arguments | dict(event.arguments),
    }
    if event.end is None:
        return fields | {"ph": "i", "s": "t"}
    return fields | {"ph": "X", "dur": (event.end - event.begin) / 1e3}


def _metadata(kind: str, lane: int, track: int, **arguments: object) -> Fields:
    return {"ph": "M", "name": kind, "pid": lane, "tid": track, "args": arguments}


def _flow(
    parent: Event, event: Event, places: Mapping[int, tuple[int, int]], start: int
) -> Iterator[Fields]:
    """An arrow from a span to its child on another lane."""
    left = max(parent.begin, min(event.begin, _end(parent)))
    ends = (("s", parent, left), ("f", event, event.begin))
    for phase, end, when in ends:
        lane, track = places[id(end)]
        fields: Fields = {"name": "request", "cat": "request", "ph": phase}
        fields |= {"id": event.context.span_id, "ts": (when - start) / 1e3}
        fields |= {"pid": lane, "tid": track}
        yield fields | ({"bp": "e"} if phase == "f" else {})
