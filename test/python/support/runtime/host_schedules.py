"""Random schedules of a host: several callers, priorities, cancellation, removal."""

from __future__ import annotations

import random
import threading

from support.runtime.host_testing import doubling, open_doubling, rows

import glow
from glow.host.request import QueueFullError


def run_schedule(seed):
    """Run one; raises AssertionError for a wrong result, a hang, or figures that are off."""
    chance = random.Random(seed)
    with glow.Host("cpu", queue_limit=chance.choice([4, 100])) as host:
        host.add("a", open_doubling())
        host.add("b", doubling(), max_delay=0.0)
        outcomes = [[] for _ in range(4)]
        threads = [
            threading.Thread(target=call, args=(host, seed * 10 + number, found))
            for number, found in enumerate(outcomes)
        ]
        for thread in threads:
            thread.start()
        for _ in range(5):
            host.remove("b")
            host.add("b", doubling())
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        figures = host.statistics()
        assert figures["queue"]["waiting"] == 0
        assert figures["devices"]["cpu:0"]["outstanding"] == 0
        model = figures["models"]["a"]
        ended = ("succeeded", "failed", "expired", "cancelled")
        assert model["requests"] == sum(model[one] for one in ended)
        assert model["running"] == model["failed"] == 0
    found = [one for some in outcomes for one in some]
    assert "wrong" not in found
    assert "right" in found


def call(host, seed, outcomes):
    """Requests of one caller, and what became of them."""
    chance = random.Random(seed)
    pending = []
    for number, x in enumerate(rows(60)):
        try:
            name, priority = chance.choice("aab"), chance.randrange(3)
            future = host.run(name, x, priority=priority, timeout=30)
        except (QueueFullError, glow.GlowError):
            outcomes.append("refused")
            continue
        if chance.random() < 0.2:
            future.cancel()
        pending.append((number + 1, future))
        if chance.random() < 0.5:
            outcomes.extend(outcome(*one) for one in pending)
            pending = []
    outcomes.extend(outcome(*one) for one in pending)


def outcome(number, future):
    """What became of a request."""
    if future.cancelled():
        return "cancelled"
    try:
        result = future.result(30)["y"]
    except glow.GlowError:
        return "failed"
    return "right" if (result == 2 * number).all() else "wrong"
