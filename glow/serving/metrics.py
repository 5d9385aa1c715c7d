"""Figures of a server for Prometheus: counted here by protocol, read from the host else.

glow_requests_total{model, protocol, status}    requests by what became of them
glow_request_seconds{model, protocol}           from the first byte to the last, a histogram
glow_model_*{model}, glow_device_*{device}      those of `Host.statistics`
glow_queue_waiting                              requests that wait for a device
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from glow.host.host import Host

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
"""The upper bounds of the histogram's parts."""

UNKNOWN = "unknown"
"""Stands for the names of models that there are none of, which clients choose."""

MODEL_COUNTS = ("succeeded", "failed", "refused", "expired", "cancelled")
MODEL_SECONDS = ("queue_seconds", "compute_seconds")


class ServerMetrics:
    """The figures of a server."""

    def __init__(self, host: Host | None) -> None:
        """`host` is whose figures are read when somebody asks."""
        self.registry = CollectorRegistry()
        labels = ["model", "protocol"]
        self._requests = Counter(
            "glow_requests", "Requests", [*labels, "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "glow_request_seconds",
            "Duration of requests",
            labels,
            buckets=SECONDS,
            registry=self.registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._ended: deque[tuple[str, str, int, float]] = deque()
        if host is not None:
            self.registry.register(HostCollector(host))

    def count(self, model: str, protocol: str, status: int, seconds: float) -> None:
        """Note a request that has ended; `settle` adds it to the figures."""
        self._ended.append((model, protocol, status, seconds))

    def settle(self) -> None:
        """Add up the requests that were noted."""
        with suppress(IndexError):
            while True:
                self._add(*self._ended.popleft())

    def _add(self, model: str, protocol: str, status: int, seconds: float) -> None:
        key = (model, protocol, status)
        found = self._children.get(key)
        if found is None:
            found = (
                self._requests.labels(model, protocol, str(status)),
                self._seconds.labels(model, protocol),
            )
            self._children[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """What Prometheus reads."""
        self.settle()
        return generate_latest(self.registry)


class HostCollector(Collector):
    """The figures of a host, when somebody asks."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def collect(self) -> Iterator[Metric]:
        """The families of figures."""
        figures = cast(
            "Mapping[str, Mapping[str, Mapping[str, float]]]", self.host.statistics()
        )
        models, devices = figures["models"], figures["devices"]
        for name in (*MODEL_COUNTS, *MODEL_SECONDS):
            family = CounterMetricFamily(
                f"glow_model_{name}", f"Requests: {name}", labels=["model"]
            )
            for model, values in models.items():
                family.add_metric([model], values[name])
            yield family
        yield self._batches(models)
        for name in ("waiting", "running", "memory_bytes"):
            family = GaugeMetricFamily(
                f"glow_model_{name}", f"Of a model: {name}", labels=["model"]
            )
            for model, values in models.items():
                family.add_metric([model], values[name])
            yield family
        for name in ("outstanding", "memory_used_bytes"):
            family = GaugeMetricFamily(
                f"glow_device_{name}", f"Of a device: {name}", labels=["device"]
            )
            for device, values in devices.items():
                family.add_metric([device], values[name])
            yield family
        health = GaugeMetricFamily(
            "glow_device_ready", "Whether a device takes requests", labels=["device"]
        )
        for device, values in devices.items():
            is_ready = cast(str, values["health"]) == "ready"
            health.add_metric([device], float(is_ready))
        yield health
        queue = cast("Mapping[str, float]", figures["queue"])
        yield GaugeMetricFamily(
            "glow_queue_waiting", "Requests that wait", value=queue["waiting"]
        )

    def _batches(
        self, models: Mapping[str, Mapping[str, float]]
    ) -> CounterMetricFamily:
        family = CounterMetricFamily(
            "glow_model_batches", "Batches by size", labels=["model", "size"]
        )
        for model, values in models.items():
            batches = cast("Mapping[int, int]", values["batches"])
            for size, count in batches.items():
                family.add_metric([model, str(size)], count)
        return family
