"""The connection to a Ray cluster, and the models that are in its object store."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.model_blob import ModelBlob
from glow.host.devices.ray_api import Ray, Ref, load_ray
from glow.runtime.threads.cores import available_cores

if TYPE_CHECKING:
    from glow.specialized_model import RunnableModel

LOCAL_STORE_BYTES = 512 << 20
"""The object store of a cluster that is started here."""


class RayCluster:
    """The connection to a cluster, which ends with the last device if it was made here."""

    def __init__(self, address: str | None) -> None:
        """`address` is `ray://head:10001`; without one it is a cluster here, or a new one.

        Raises GlowError where Ray is not installed, or no cluster is there.
        """
        self.ray: Ray = load_ray()
        self._is_ours = not self.ray.is_initialized()
        self._devices = 0
        self._objects: weakref.WeakKeyDictionary[RunnableModel, tuple[Ref, str]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = threading.Lock()
        if self._is_ours:
            _connect(self.ray, address)

    def object_of(self, model: RunnableModel) -> tuple[Ref, str]:
        """The blob of a model in the object store, put there once, and its kind."""
        with self._lock:
            known = self._objects.get(model)
            if known is None or (isinstance(model, CompiledModel) and model.variables):
                blob = ModelBlob(model)
                known = self._objects[model] = self.ray.put(blob.content()), blob.kind
                blob.close()
            return known

    def open(self) -> None:
        """Note a device."""
        self._devices += 1

    def close(self) -> None:
        """Note that a device is closed."""
        self._devices -= 1
        if not self._devices and self._is_ours:
            self.ray.shutdown()


def _connect(ray: Ray, address: str | None) -> None:
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address is not None:
            ray.init(address=address, logging_level="ERROR")
            return
        with suppress(ConnectionError):
            ray.init(address="auto", **quiet)
            return
        ray.init(
            num_cpus=available_cores(),
            include_dashboard=False,
            object_store_memory=LOCAL_STORE_BYTES,
            **quiet,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise GlowError(
            f"no Ray cluster at {address or 'this machine'}: {error}",
            hint=address and "one with tokens needs RAY_AUTH_MODE=token here too",
        ) from error
