"""The managers of devices that a text names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from glow.backends.backend import get_backend
from glow.dialects.errors import GlowError
from glow.host.devices.specification import DeviceSpecification, parse_specifications

if TYPE_CHECKING:
    from glow.host.devices.device import DeviceManager


def open_devices(
    devices: str | Iterable[str | DeviceManager],
) -> Sequence[DeviceManager]:
    """Managers of devices given as text, of which those that are managers stay as they are.

    Names are `kind:number`. Raises GlowError for text that is no device, an extra that is
    missing, and names that come twice.
    """
    listed = [devices] if isinstance(devices, str) else list(devices)
    counts: Counter[str] = Counter()
    opened: list[DeviceManager] = []
    try:
        for device in listed:
            if isinstance(device, str):
                for one in parse_specifications(device):
                    opened.extend(_open(one, counts))
            else:
                opened.append(device)
        check_names([device.name for device in opened])
    except BaseException:
        for device in opened:
            device.close()
        raise
    return opened


def check_names(names: Sequence[str]) -> None:
    """Raise GlowError where there is no device, or two have one name."""
    if not names:
        raise GlowError("a host needs a device", hint='devices=["cpu"]')
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise GlowError(f"two devices have the name '{twice[0]}'")


def _open(
    specification: DeviceSpecification, counts: Counter[str]
) -> Sequence[DeviceManager]:
    """The managers of a specification; a cluster has one a node."""
    kind = specification.kind
    name = f"{kind}:{counts[kind]}"
    counts[kind] += 1
    if kind == "process":
        from glow.host.devices.process import ProcessDevice

        return [ProcessDevice(name, specification)]
    if kind == "ray":
        from glow.host.devices.ray import ray_devices

        return ray_devices(specification)
    get_backend(kind)  # Which raises where there is none.
    from glow.host.devices.local import LocalDevice

    return [LocalDevice(name, specification)]
