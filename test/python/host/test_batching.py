"""When requests join in batches: the policy, on a device that a test steps."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser
from support.runtime.host_testing import (
    COSTLY,
    ONE,
    PAYING,
    FakeDevice,
    Table,
    doubling,
    open_doubling,
    rows,
)

import glow
from glow.host.batch_table import BatchTable, measure_table
from glow.host.batching import BatchPolicy, why_not
from glow.host.deadlines import Deadlines
from glow.specialized_model import SpecializedModel


@pytest.fixture
def table(monkeypatch):
    """The table of all models."""
    table = Table(PAYING)
    monkeypatch.setattr("glow.host.adding.measure_table", table)
    return table


def run_all(device, host, count, name="m"):
    """The batches of that many requests that come while the device is busy."""
    futures = [host.run(name, x) for x in rows(count)]
    batches = device.end_all()
    for number, future in enumerate(futures, 1):
        np.testing.assert_array_equal(future.result()["y"], [[2 * number] * 2])
    return batches


def test_batches_form_only_of_those_that_wait(table):
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", open_doubling())
        assert run_all(device, host, 16) == [1, 8, 4, 2, 1]
        assert run_all(device, host, 1) == [1]
        assert host.statistics()["models"]["m"]["batches"] == {1: 3, 2: 1, 4: 1, 8: 1}
        assert table.measured == [[(1, 2)]]  # Once, when the model was added.


def test_idle_slots_share_what_waits(table):
    device = FakeDevice(slots=2)
    with glow.Host([device]) as host:
        host.add("m", open_doubling())
        futures = [host.run("m", x) for x in rows(10)]
        device.end()
        assert [len(inputs[0]) for _, _, inputs, _ in device.running] == [1, 8]
        device.end_all()
        assert all(future.result() for future in futures)


def test_batches_that_do_not_pay_are_not_formed(table):
    table.table = COSTLY
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", open_doubling())
        assert run_all(device, host, 4) == [1, 1, 1, 1]


def test_batching_off(table):
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", open_doubling(), batching="off")
        assert run_all(device, host, 4) == [1, 1, 1, 1]
        assert host.statistics()["models"]["m"]["batching"] == "batching is off"
        assert not table.measured


def test_requests_of_other_sizes_do_not_mix(table, monkeypatch):
    monkeypatch.setattr(
        "glow.host.background.Background.later", lambda self, work: work()
    )
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", open_doubling(shape=("N", "L")))
        arrays = [np.full((1, 2 + n % 2), n, np.float32) for n in range(9)]
        for _ in range(2):  # At first nothing is known of the sizes.
            futures = [host.run("m", x) for x in arrays]
            batches = device.end_all()
            for x, future in zip(arrays, futures, strict=True):
                np.testing.assert_array_equal(future.result()["y"], 2 * x)
        assert batches == [1, 4, 4]
        assert sorted(map(tuple, table.measured)) == [((1, 2),), ((1, 3),)]


def test_only_single_rows_of_the_right_type_join(table):
    policy = BatchPolicy(open_doubling(), table, print)
    assert policy.is_joinable([ONE])
    assert not policy.is_joinable([np.ones((2, 2), np.float32)])
    assert not policy.is_joinable([np.ones((1, 2))])
    assert not policy.is_joinable([np.float32(1)])


def test_a_bad_request_fails_alone(table):
    device = FakeDevice()
    with glow.Host([device]) as host:
        model = open_doubling()
        host.add("m", model)
        for kept in model.programs():
            run = kept.function.run
            kept.function.run = lambda inputs, run=run: fail_on_three(run, inputs)
        futures = [host.run("m", x) for x in rows(5)]
        device.end()
        future, kept, inputs, _ = device.running.pop()
        assert len(inputs[0]) == 4
        try:
            future.set_result(kept.run_in_order(inputs))
        except glow.GlowError as error:
            future.set_exception(error)
        while device.running:
            future, kept, inputs, _ = device.running.pop()
            try:
                future.set_result(kept.run_in_order(inputs))
            except glow.GlowError as error:
                future.set_exception(error)
        errors = [future.exception() for future in futures]
        assert [error is None for error in errors] == [True, True, False, True, True]
        figures = host.statistics()["models"]["m"]
        assert (figures["failed"], figures["succeeded"]) == (1, 4)


def fail_on_three(run, inputs):
    """Twice the inputs, of which none may be 3."""
    if (inputs[0] == 3).any():
        raise glow.GlowError("3 is bad")
    return run(inputs)


def test_a_delay_waits_for_others(table, monkeypatch):
    wakes = []
    monkeypatch.setattr(
        Deadlines, "call_at", lambda self, when, wake: wakes.append(wake)
    )
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", open_doubling(), max_delay=60)
        futures = [host.run("m", x) for x in rows(7)]
        assert not device.running
        assert len(wakes) == 1  # For the first of them.
        futures.append(host.run("m", ONE))
        assert device.end_all() == [8]
        late = host.run("m", ONE)
        assert not device.running
        host._scheduler._clock = lambda: late.since + 60  # A minute later.
        wakes[-1]()
        assert device.end_all() == [1]
        assert all(future.result() for future in [*futures, late])


NETWORK = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N, 8] x) => (float[N, 6] y)
<float[8, 6] w = {%s}> {
  p = MatMul(x, w)
  y = Tanh(p)
}
"""


def test_a_batch_of_a_compiled_network_is_its_call(table):
    """Bit for bit what the model gives for all rows at once."""
    table.table = BatchTable({1: 1.0, 4: 1.6})
    weights = np.random.default_rng(0).standard_normal(48)
    model = glow.compile(parser.parse_model(NETWORK % ", ".join(map(str, weights))))
    device = FakeDevice()
    with glow.Host([device]) as host:
        host.add("m", model)
        x = np.random.default_rng(1).standard_normal((5, 8), np.float32)
        futures = [host.run("m", x[n : n + 1]) for n in range(5)]
        assert device.end_all() == [1, 4]
        found = [future.result()["y"] for future in futures]
    np.testing.assert_array_equal(found[0], model(x[:1]))
    np.testing.assert_array_equal(np.concatenate(found[1:]), model(x[1:]))
    expected = np.tanh(x @ weights.reshape(8, 6))
    np.testing.assert_allclose(np.concatenate(found), expected, 1e-5, 1e-6)


def test_networks_whose_rows_depend_on_each_other_have_no_batches():
    policy = BatchPolicy(open_doubling(mixes=True), measure_table, print)
    policy.measure_now([ONE])
    assert policy.figures() == (
        "the results of a request depend on others in its batch"
    )
    assert not policy.is_joinable([ONE])


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (doubling(), "no open batch size"),
        (open_doubling(shape=(1, "N")), "no open size leads 'x'"),
        (open_doubling(shape=("N", 2), gives=(1, "N")), "no open size leads 'y'"),
        (open_doubling(shape=("N", 2), gives=()), "no open size leads 'y'"),
        (open_doubling(shape=("N", "N")), "'N' is not only a batch size"),
        (open_doubling(shape=("?", "?")), ""),
    ],
)
def test_networks_without_a_batch_axis_say_so(model, reason):
    assert reason in why_not(model)
    assert bool(reason) == bool(why_not(model))


def test_a_program_that_was_let_go_is_not_waited_for(table, monkeypatch):
    monkeypatch.setattr("glow.host.background.Background.later", print)
    device = FakeDevice()
    with glow.Host([device]) as host:
        model = open_doubling()
        assert isinstance(model, SpecializedModel)
        host.add("m", model)
        model.forget([(8, 2)])
        assert run_all(device, host, 9) == [1, 4, 4]


def sized(model):
    """A model whose programs take ten bytes a row."""
    make = model.specializer.make

    def made(shapes, answers):
        program = make(shapes, answers)
        program.model.function.memory_bytes = 10 * shapes["x"][0]
        return program

    model.specializer.make = made
    return model


def test_programs_of_batches_stay_where_they_pay_and_fit(table):
    for limit, paying, used in (
        (150, PAYING, 150),
        (150, COSTLY, 10),
        (149, PAYING, 10),
    ):
        table.table = paying
        device = FakeDevice(limit=limit)
        with glow.Host([device]) as host:
            host.add("m", sized(open_doubling()))
            assert device.memory().used_bytes == used
            batching = host.statistics()["models"]["m"]["batching"]
    assert batching == (
        "there is no room for batches: 'm#1' needs 150 bytes on device 'fake:0', where 149 "
        "are free; give the device more memory, or divide the network (partition=...)"
    )


def test_batches_that_do_not_fit_later_are_let_go(table, monkeypatch):
    works = []
    monkeypatch.setattr(
        "glow.host.background.Background.later", lambda self, work: works.append(work)
    )
    device = FakeDevice(limit=100)
    with glow.Host([device]) as host:
        host.add("m", sized(open_doubling(shape=("N", "L"))))
        assert run_all(device, host, 5) == [1] * 5
        works.pop()()
        assert device.memory().used_bytes == 10
        batching = host.statistics()["models"]["m"]["batching"]
        assert batching.startswith("batches cannot be measured: 50 bytes are missing")
