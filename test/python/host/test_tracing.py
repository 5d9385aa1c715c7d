"""Traces: contexts of W3C, spans and their parents, bounds, and the file for Chrome."""

import json
from collections import defaultdict

import pytest

from glow.host.trace_events import SpanContext, parse_traceparent
from glow.host.trace_file import tracks_of
from glow.host.tracing import NO_TRACE, Tracer, current_span

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_traceparent_is_parsed_and_passed_on():
    context = parse_traceparent(f"00-{TRACE}-{SPAN}-01", "vendor=1")
    assert context == SpanContext(TRACE, SPAN, 1, "vendor=1")
    child = context.child()
    assert child.trace_id == TRACE
    assert child.span_id != SPAN
    assert parse_traceparent(child.traceparent, "vendor=1") == child


def test_a_later_version_may_say_more():
    assert parse_traceparent(f"01-{TRACE}-{SPAN}-03-what").flags == 1


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE[:-1]}-{SPAN}-01",
    ],
)
def test_a_wrong_traceparent_is_none(header):
    assert parse_traceparent(header) is None


def test_spans_know_their_parents():
    tracer = Tracer()
    caller = SpanContext(TRACE, SPAN)
    with tracer.span("http", "infer", "7", caller) as outer:
        assert current_span() is outer
        with tracer.span("cpu:0", "run", "7", size=3) as inner:
            pass
    assert current_span() is None
    run, infer = tracer.events()
    assert (run.parent, infer.parent) == (outer.context, caller)
    assert run.context == inner.context
    assert run.context.trace_id == TRACE
    assert run.arguments == {"size": 3}
    assert infer.begin <= run.begin <= run.end <= infer.end


def test_a_request_without_an_id_is_known_by_its_trace():
    tracer = Tracer()
    with tracer.span("http", "infer", parent=SpanContext(TRACE, SPAN)):
        pass
    assert tracer.events()[0].request_id == TRACE


def test_a_span_tells_the_error_that_ends_it():
    tracer = Tracer()
    with pytest.raises(ValueError, match="no"), tracer.span("queue", "wait", "1"):
        raise ValueError("no")
    assert tracer.events()[0].arguments == {"error": "ValueError: no"}


def test_a_span_ends_once():
    tracer = Tracer()
    span = tracer.span("queue", "wait", "1")
    span.end(size=2)
    span.end(size=3)
    assert [event.arguments for event in tracer.events()] == [{"size": 2}]


def test_the_latest_events_are_kept(tmp_path):
    tracer = Tracer(limit=3)
    for number in range(5):
        tracer.instant("queue", f"event {number}", str(number))
    assert [event.request_id for event in tracer.events()] == ["2", "3", "4"]
    assert tracer.dropped == 2
    tracer.write(tmp_path / "t.json")
    assert read(tmp_path / "t.json")["otherData"] == {"dropped events": 2}


def test_no_trace_keeps_nothing(tmp_path):
    with NO_TRACE.span("http", "infer", "1", size=2) as span:
        assert current_span() is None
        span.end(more=1)
        NO_TRACE.instant("queue", "refused")
        NO_TRACE.record(("queue", "wait", "1"), 1, 2)
    assert span.context is None
    assert not NO_TRACE.is_on
    assert NO_TRACE.events() == []


def test_a_file_has_a_lane_a_device_and_ids_in_every_span(tmp_path):
    tracer = Tracer()
    for number in "ab":
        with tracer.span("http", "infer", number):
            with tracer.span("queue", "wait", number):
                pass
            with tracer.span("cpu:0", "run", number):
                tracer.instant("cpu:0", "here", number, current_span().context)
    tracer.write(tmp_path / "t.json")
    events = read(tmp_path / "t.json")["traceEvents"]
    lanes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert list(lanes.values()) == ["http", "queue", "cpu:0"]
    spans = [event for event in events if event["ph"] in "Xi"]
    assert len(spans) == 8
    by_id = {event["args"]["span"]: event for event in spans}
    for event in spans:
        parent = by_id.get(event["args"].get("parent"))
        assert event["args"]["request"] in "ab"
        assert (parent is None) == (lanes[event["pid"]] == "http")
        if parent:
            assert parent["args"]["request"] == event["args"]["request"]
            assert parent["args"]["trace"] == event["args"]["trace"]
    flows = [event["ph"] for event in events if event["ph"] in "sf"]
    assert flows == ["s", "f"] * 4


def test_what_overlaps_on_a_lane_has_tracks_of_its_own():
    tracer = Tracer()
    first = tracer.record(("cpu:0", "run", "a"), 0, 100)
    second = tracer.record(("cpu:0", "run", "b"), 50, 150)
    tracer.record(("cpu:0", "kernel", "a"), 10, 60, first)
    tracer.record(("cpu:0", "kernel", "b"), 60, 140, second)
    tracer.record(("cpu:0", "run", "c"), 150, 160)
    tracks = tracks_of(tracer.events())
    assert [tracks[id(event)] for event in tracer.events()] == [0, 1, 0, 1, 0]


def test_spans_of_a_track_nest():
    """Random trees of spans, of which parents end before children at times."""
    import random

    chance = random.Random(3)
    tracer = Tracer()
    known = [None]
    for number in range(300):
        begin = chance.randrange(1000)
        span = ("cpu:0", "span", str(number))
        end = begin + chance.randrange(200)
        known.append(tracer.record(span, begin, end, chance.choice(known)))
    tracks = tracks_of(tracer.events())
    by_track = defaultdict(list)
    for event in tracer.events():
        by_track[tracks[id(event)]].append((event.begin, event.end))
    for spans in by_track.values():
        for one in spans:
            for other in spans:
                if one[0] < other[0] < one[1]:
                    assert other[1] <= one[1]


def read(path):
    """The JSON of a file."""
    return json.loads(path.read_text())
