"""What is used of Ray, which has no types and is an extra: `pip install 'glow-xdsl[ray]'`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from importlib import import_module
from typing import Any, Protocol, cast

from glow.dialects.errors import GlowError


class Ref(Protocol):
    """A result that an actor computes, or an object in the store of a node."""

    def future(self) -> Future[object]:
        """The result, as a future; its callbacks must not wait for anything."""
        ...


class Method(Protocol):
    """A method of an actor."""

    def remote(self, *arguments: object) -> Ref:
        """Call it; arguments that are references are there when it begins."""
        ...

    def options(self, **options: object) -> Method:
        """The method with other options."""
        ...


class Actor(Protocol):
    """An object in a process of some node."""

    def __getattr__(self, name: str) -> Method: ...


class ActorClass(Protocol):
    """Makes actors."""

    def options(self, **options: object) -> ActorClass:
        """The class with other options: resources, restarts, placement."""
        ...

    def remote(self, *arguments: object) -> Actor:
        """A new actor."""
        ...


class Ray(Protocol):
    """The module."""

    def init(self, **options: object) -> object:
        """Connect to a cluster, or start one."""
        ...

    def is_initialized(self) -> bool:
        """Whether this process is connected."""
        ...

    def shutdown(self) -> None:
        """Leave the cluster."""
        ...

    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """What is known of each node."""
        ...

    def put(self, value: object) -> Ref:
        """Put an object into the store."""
        ...

    def get(self, ref: Ref, *, timeout: float | None = None) -> object:
        """Wait for an object."""
        ...

    def kill(self, actor: Actor) -> None:
        """End an actor for ever."""
        ...

    def remote(self, kind: type) -> ActorClass:
        """The class as that of actors."""
        ...


def load_ray() -> Ray:
    """Ray; raises GlowError where it is not installed."""
    try:
        return cast(Ray, import_module("ray"))
    except ImportError as error:
        raise GlowError(
            "a device 'ray' needs Ray", hint="pip install 'glow-xdsl[ray]'"
        ) from error


def ray_errors() -> tuple[type[Exception], ...]:
    """What Ray raises, ConnectionError where a client has lost its cluster."""
    of_ray = cast("type[Exception]", import_module("ray.exceptions").RayError)
    return of_ray, ConnectionError


def on_node(node: str) -> object:
    """The scheduling strategy that places an actor on this node only."""
    strategies = import_module("ray.util.scheduling_strategies")
    return strategies.NodeAffinitySchedulingStrategy(node, soft=False)
