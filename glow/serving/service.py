"""What all protocols share: the models, their limits and figures, and how much goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from glow.host.tracing import NO_TRACE
from glow.serving.body import Bodies, Limits
from glow.serving.metrics import UNKNOWN, ServerMetrics
from glow.serving.requests import UNAVAILABLE, ServingError

if TYPE_CHECKING:
    from glow.host.tracing import Tracer
    from glow.serving.repository import ServedModels


class Service:
    """Models and what is known of the requests for them, by whatever protocol they come."""

    def __init__(
        self,
        models: ServedModels,
        limits: Limits | None = None,
        metrics: ServerMetrics | None = None,
        tracer: Tracer = NO_TRACE,
    ) -> None:
        self.models = models
        self.limits = limits or Limits()
        self.metrics = metrics or ServerMetrics(None)
        self.tracer = tracer
        self.bodies = Bodies(self.limits)
        self.running = 0
        """How many requests have come whole and have no answer yet."""

    def enter(self) -> None:
        """Count a request, until it leaves; raises ServingError where there are too many."""
        if self.running >= self.limits.requests:
            raise ServingError(UNAVAILABLE, "the server has too many requests", 1)
        self.running += 1

    def leave(self) -> None:
        """A request has its answer."""
        self.running -= 1

    def count(self, model: str, protocol: str, status: int, seconds: float) -> None:
        """Note a request that has ended; it is added up once its answer is under way.

        Prometheus' counters take 30 us of an answer, as all they touch is far by then.
        """
        self.metrics.count(model, protocol, status, seconds)
        asyncio.get_running_loop().call_soon(self.metrics.settle)

    def label(self, name: str) -> str:
        """What figures call a model: names that there are none of are the clients' choice."""
        try:
            self.models.is_model_ready(name)
        except ServingError:
            return UNKNOWN
        return name
