"""The figures of all workers, whichever of them is asked.

Each worker leaves its own in a file every second; who is asked adds its present ones, and
tells by the label `worker` whose a figure is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from glow.runtime.atomic_output import atomic_path
from glow.serving.metrics import ServerMetrics

if TYPE_CHECKING:
    from glow.host.host import Host

SECONDS = 1.0
"""From one writing to the next."""
SUFFIX = ".prom"


class SharedMetrics(ServerMetrics):
    """The figures of a worker, and of those that share its folder."""

    def __init__(self, host: Host, folder: Path, worker: int) -> None:
        super().__init__(host)
        self._file = folder / f"{worker}{SUFFIX}"
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._write_often, daemon=True)
        self._thread.start()

    def text(self) -> bytes:
        """What Prometheus reads of all workers."""
        self._write()
        texts = {
            path.name.removesuffix(SUFFIX): path.read_text(encoding="utf-8")
            for path in sorted(self._file.parent.glob(f"[0-9]*{SUFFIX}"))
        }
        registry = CollectorRegistry()
        registry.register(_Merged(texts))
        return generate_latest(registry)

    def close(self) -> None:
        """Write no more."""
        self._closed.set()
        self._thread.join()

    def _write_often(self) -> None:
        while not self._closed.wait(SECONDS):
            self._write()

    def _write(self) -> None:
        with atomic_path(self._file) as temporary:
            temporary.write_bytes(super().text())


class _Merged(Collector):
    """The families of several texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def collect(self) -> Iterator[Metric]:
        """Each family once, with the samples of all workers."""
        families: dict[str, Metric] = {}
        for worker, text in self.texts.items():
            for family in text_string_to_metric_families(text):
                merged = families.setdefault(
                    family.name,
                    Metric(family.name, family.documentation, family.type),
                )
                for sample in family.samples:
                    labels = {**sample.labels, "worker": worker}
                    merged.add_sample(sample.name, labels, sample.value)
        yield from families.values()
