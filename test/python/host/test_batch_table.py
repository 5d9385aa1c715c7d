"""What is measured of batches, and which of them are formed by it."""

import heapq
import random
from collections import deque
from itertools import accumulate, chain, cycle, islice
from types import SimpleNamespace

import pytest
from support.runtime.host_testing import ONE, PAYING, Table, open_doubling

from glow.host import batch_table, batching
from glow.host.batch_table import Backlog, BatchTable, TableCache, measure_table
from glow.host.batching import BatchPolicy


def test_a_size_pays_by_five_per_cent():
    table = BatchTable({1: 1.0, 2: 1.9, 4: 3.75, 8: 6.0})
    assert table.paying == [1, 2, 8]  # 4 gains 1.3 % on 2.
    assert BatchTable({1: 1.0, 2: 1.92}).best == 1
    assert BatchTable({1: 1.0, 2: 1.0}, is_exact=False).best == 1


def test_a_size_pays_by_more_than_tables_are_wrong_by():
    seconds = {1: 1.0, 2: 1.8, 4: 2.4}
    assert BatchTable(seconds, noise=0.02).paying == [1, 2, 4]
    assert BatchTable(seconds, noise=0.08).paying == [1, 4]
    assert BatchTable(seconds, noise=1.0).paying == [1]
    assert [BatchTable(seconds, noise=n).is_sure for n in (0.02, 0.08)] == [True, False]
    assert BatchTable({1: 1.0, 2: 2.4}, noise=0.08).is_sure


def latency(table, slots, load, is_on):
    """The mean time to a result of arrivals at random, on slots as busy as `load` says."""
    chance = random.Random(1)
    arrivals = list(accumulate(chance.expovariate(load * slots) for _ in range(2000)))
    ends, waiting, total, streak = [0.0] * slots, deque(), 0.0, 0
    while arrivals or waiting:
        now = heapq.heappop(ends)
        if not waiting and arrivals[0] >= now:
            now, streak = arrivals[0], 0
        while arrivals and arrivals[0] <= now:
            waiting.append(arrivals.pop(0))
        backlog = Backlog(len(waiting), slots, streak)
        size = table.best_of(len(waiting), backlog) if is_on else 1
        heapq.heappush(ends, now + table.seconds[size])
        total += sum(ends_at(now, table, size) - waiting.popleft() for _ in range(size))
        streak += size
    return total / 2000


def ends_at(now, table, size):
    return now + table.seconds[size]


@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("gain", [1.06, 1.2, 1.5, 3.0])
def test_nobody_waits_longer_for_batches(slots, gain):
    """Whatever they gain, at any load; where requests pile up they are sooner done."""
    shares = {1: 1, 2: (1 + 1 / gain) / 2, 4: (1 + 3 / gain) / 4, 8: 1 / gain}
    table = BatchTable({size: size * share for size, share in shares.items()})
    assert table.best == 8
    for load in (0.3, 0.6, 0.8, 0.95):
        on, off = (latency(table, slots, load, is_on) for is_on in (True, False))
        assert on <= 1.02 * off, load
    assert latency(table, slots, 1.3, True) < latency(table, slots, 1.3, False)


def test_few_that_wait_join_only_where_that_gains_much():
    table = BatchTable({1: 1.0, 2: 1.7, 4: 3.0, 8: 5.4})
    assert table.best_of(2, Backlog(waiting=2, slots=2, coming=0)) == 1
    assert table.best_of(8, Backlog(waiting=30, slots=2, coming=0)) == 8
    assert table.best_of(2, Backlog(waiting=2, slots=2, coming=100)) == 2
    assert PAYING.best_of(2, Backlog(waiting=2, slots=2, coming=0)) == 2


class Clock:
    """A thread's time, that goes on by what a model's calls cost."""

    def __init__(self, costs, slowness=(1.0,)):
        """`slowness` is by what calls take longer, one after the other, again and again."""
        self.costs = costs
        self.slowness = iter(slowness) if len(slowness) > 1 else cycle(slowness)
        self.now = 0.0

    def measure(self, model):
        run = model.run_in_order

        def counted(inputs, threads=None):
            assert threads == 1
            self.now += self.costs[len(inputs[0])] * next(self.slowness)
            return run(inputs, threads)

        model.run_in_order = counted
        return measure_table(model, [ONE], lambda: self.now)


def test_measurements_end_where_a_batch_does_not_pay():
    clock = Clock({1: 0.01, 2: 0.0195, 4: 0.02, 8: 0.02})
    model = open_doubling()
    table = clock.measure(model)
    assert table.best == 1
    assert model.specializer.made == [(1, 2), (2, 2)]
    assert table.seconds == pytest.approx({1: 0.01, 2: 0.0195})


def test_all_sizes_are_measured_where_they_pay():
    table = Clock({1: 0.01, 2: 0.012, 4: 0.015, 8: 0.02}).measure(open_doubling())
    assert table.paying == [1, 2, 4, 8]
    assert table.rates()[8] == pytest.approx(400)


def test_long_requests_are_not_measured_for_long():
    model = open_doubling()
    assert Clock({1: 2.0}).measure(model).best == 1
    assert model.specializer.made == [(1, 2)]


def test_a_busy_machine_is_measured_for_longer(monkeypatch):
    """Until half of the calls are undisturbed, by this clock of calls."""
    monkeypatch.setattr(batch_table, "ROUNDS", 4)
    costs = {1: 0.01, 2: 0.0185, 4: 0.03, 8: 0.06}
    disturbed = chain([1.0], cycle([1.0, 1.0, 1.3, 1.3]))
    busy = Clock(costs, list(islice(disturbed, 400))).measure(open_doubling())
    assert not busy.is_sure
    assert busy.paying == [1]
    quiet = Clock(costs).measure(open_doubling())
    assert quiet.noise == pytest.approx(0)
    assert quiet.paying[:2] == [1, 2]


def test_what_a_busy_machine_has_disturbed_is_measured_again(tmp_path, monkeypatch):
    now, works = [0.0], []
    tables = [BatchTable(PAYING.seconds, noise=0.5), PAYING]
    monkeypatch.setattr(batch_table, "measure_table", lambda *_: tables.pop(0))
    model = open_doubling()
    for size in PAYING.seconds:
        model.prepare([batch_table.mixed_rows(ONE, size)])
    cache = TableCache("a", tmp_path)
    policy = BatchPolicy(model, cache.measure, works.append, clock=lambda: now[0])
    policy.measure_now([ONE])
    ticket = SimpleNamespace(sizes=((1, 2),), inputs=[ONE])
    backlog = Backlog(waiting=2, slots=1, coming=0)
    assert policy.fit(ticket, 2, backlog) == 1
    assert not works
    now[0] = batching.AGAIN_SECONDS
    assert policy.fit(ticket, 2, backlog) == 1
    works.pop()()
    assert policy.fit(ticket, 2, backlog) == 2
    assert not works
    assert TableCache("a", tmp_path).measure(model, [ONE]) == PAYING


def test_tables_are_kept(tmp_path, monkeypatch):
    table = Table(PAYING)
    monkeypatch.setattr(batch_table, "measure_table", table)
    models = [open_doubling() for _ in range(3)]
    caches = [TableCache(key, tmp_path) for key in ("a", "a", "b")]
    found = [c.measure(m, [ONE]) for c, m in zip(caches, models, strict=True)]
    assert found == [PAYING] * 3
    assert len(table.measured) == 2
    assert models[1].is_ready([(8, 2)])  # What is known needs no compiler later.
    for file in (tmp_path / batch_table.FOLDER).iterdir():
        file.write_text("{")
    assert caches[0].measure(open_doubling(), [ONE]) == PAYING
    assert len(table.measured) == 3
