"""A host with a divided network: bits, pipelines, a device that dies, and its trace."""

import json
import os
import signal
import time
from concurrent.futures import wait

import numpy as np
import pytest
from onnx import TensorProto, helper
from places import ROOT
from support.runtime.host_testing import wait_until

import glow
from glow.host.request import DeviceError
from glow.host.trace_events import SpanContext
from glow.host.tracing import Tracer
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
EXACT = {"numerics": "exact", "threads": 1}
LAST_LAYER = "unsupported=cpu=glow.fully_connected"


@pytest.fixture(scope="module")
def images():
    """Eight images and their logits."""
    random = np.random.default_rng(0)
    whole = glow.compile(DIGITS, **EXACT)
    inputs = random.standard_normal((8, *whole.inputs[0].shape)).astype(np.float32)
    return [(image, whole(image)) for image in inputs]


def check(host, images, **options):
    """Run some requests at once, and compare."""
    futures = [host.run("digits", image, **options) for image, _ in images]
    assert not wait(futures, 60).not_done
    for future, (_, logits) in zip(futures, images, strict=True):
        np.testing.assert_allclose(future.result()["logits"], logits, 1e-4, 1e-5)


def test_a_pipeline_gives_the_bits_of_the_whole(images):
    with glow.Host(["cpu", "cpu"]) as host:
        host.add("digits", DIGITS, partition="strategy=pipeline", **EXACT)
        assert host.models()["digits"].devices == ("cpu:0", "cpu:1")
        futures = [host.run("digits", image) for image, _ in images]
        for future, (_, logits) in zip(futures, images, strict=True):
            np.testing.assert_array_equal(future.result(60)["logits"], logits)
        figures = host.statistics()["models"]["digits"]
        assert figures["succeeded"] == len(images)
        host.remove("digits")
        for device in host.devices:
            # A result is there before its slot is free.
            wait_until(lambda device=device: device.outstanding == 0)
            assert device.memory().used_bytes == 0


def test_parts_go_elsewhere_when_their_device_dies(images):
    with glow.Host(["cpu", "interpreter"]) as host:
        host.add("digits", DIGITS, partition=LAST_LAYER, **EXACT)
        assert host.models()["digits"].devices == ("cpu:0", "interpreter:0")
        check(host, images[:2])
        host.devices[1].close()
        host.devices[1].changed()
        check(host, images[:2])
        assert host.models()["digits"].devices == ("cpu:0",)


def test_text_that_is_divided_runs_as_it_is_written(images, tmp_path):
    graph, text = tmp_path / "graph.mlir", tmp_path / "divided.mlir"
    run_glow(["compile", str(DIGITS), "--compile-to=graph", "-o", str(graph)])
    options = f"devices=cpu,interpreter {LAST_LAYER}"
    run_glow_opt([str(graph), f"--partition={options}", "-o", str(text)])
    with glow.Host(["cpu", "interpreter"]) as host:
        host.add("digits", text, partition="as-written", **EXACT)
        assert host.models()["digits"].devices == ("cpu:0", "interpreter:0")
        check(host, images[:1])
        with pytest.raises(glow.GlowError, match="not divided into parts"):
            host.add("graph", graph, partition="as-written")
        with pytest.raises(glow.GlowError, match="no text that is divided"):
            host.add("onnx", DIGITS, partition="as-written")
    with glow.Host("cpu") as host:
        with pytest.raises(glow.GlowError, match="does not have") as error:
            host.add("digits", text, partition="as-written")
        assert error.value.hint == "it has cpu:0"


def test_a_request_is_traced_through_its_parts(images, tmp_path):
    tracer = Tracer()
    caller = SpanContext("a" * 32, "b" * 16)
    with glow.Host(["cpu", "interpreter"], tracer=tracer) as host:
        host.add("digits", DIGITS, partition=LAST_LAYER, **EXACT)
        check(host, images[:1], span=caller, request_id="first")
        check(host, images[:1], span=caller)
        for _ in range(10_000):  # The last spans end behind the result.
            if len(tracer.events()) == 8:
                break
            time.sleep(0.001)
        tracer.write(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    lanes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert list(lanes.values()) == ["host", "queue", "cpu:0", "interpreter:0"]
    for request in ("first", caller.trace_id):
        spans = [
            e for e in events if e["ph"] == "X" and e["args"]["request"] == request
        ]
        found = sorted((lanes[e["pid"]], e["name"]) for e in spans)
        assert found == [
            ("cpu:0", "digits/part0"),
            ("host", "digits"),
            ("interpreter:0", "digits/part1"),
            ("queue", "digits"),
        ]
        assert {e["args"]["trace"] for e in spans} == {caller.trace_id}
        (around,) = (e for e in spans if lanes[e["pid"]] == "host")
        assert around["args"]["parent"] == caller.span_id
        inner = [e for e in spans if e is not around]
        assert {e["args"]["parent"] for e in inner} == {around["args"]["span"]}


def test_kernels_are_the_leaves(images):
    """Of two requests side by side, of a network in one piece and with an open size."""
    tracer = Tracer(kernels=True)
    with glow.Host(tracer=tracer) as host:
        host.add("digits", DIGITS, numerics="exact")
        check(host, images[:4])
        host.add("open", open_relu(), batching="off")
        host.run("open", np.ones((3, 2), np.float32)).result(60)
    events = tracer.events()
    spans = {event.context.span_id: event for event in events}
    kernels = [event for event in events if "kernel" in event.arguments]
    assert {event.request_id for event in kernels} == set("12345")
    for event in kernels:
        run = spans[event.parent.span_id]
        assert run.request_id == event.request_id
        assert run.begin <= event.begin <= event.end <= run.end
        assert event.lane.partition(" ")[0] == run.lane == "cpu:0"


def open_relu():
    """An ONNX model of y = Relu(x), float32[N, 2]."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 2]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "", [x], [y])
    opset = helper.make_opsetid("", 20)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    return model.SerializeToString()


def test_a_process_that_is_killed_fails_what_it_ran_alone(images):
    """Its parts come back with it; no request hangs, and none has a wrong result."""
    image, logits = images[0]
    with glow.Host("process*2") as host:
        host.add("digits", DIGITS, partition="strategy=pipeline", **EXACT)
        failed = []
        for turn in range(200):
            futures = [host.run("digits", image) for _ in range(8)]
            if turn in (2, 4):
                os.kill(host.devices[turn // 2 - 1].pid, signal.SIGKILL)
            for future in futures:
                error = future.exception(60)
                if error is None:
                    np.testing.assert_array_equal(future.result()["logits"], logits)
                else:
                    failed.append(error)
            if turn > 4 and not any(future.exception() for future in futures):
                break
        assert {type(error) for error in failed} <= {DeviceError}
        assert {error.device for error in failed} <= {"process:0", "process:1"}
        figures = host.statistics()["models"]["digits"]
        assert figures["failed"] == len(failed)
        assert figures["succeeded"] == 8 * (turn + 1) - len(failed)
        assert turn < 199
