"""Devices as text."""

from __future__ import annotations

import pytest

from glow.dialects.errors import GlowError
from glow.host.devices.opening import open_devices
from glow.host.devices.specification import (
    DeviceSpecification,
    parse_bytes,
    parse_specifications,
)

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu", [DeviceSpecification("cpu")]),
        (" cpu:2GiB ", [DeviceSpecification("cpu", 2 * GIB)]),
        ("cpu:1.5 GiB", [DeviceSpecification("cpu", 3 * GIB // 2)]),
        ("cpu@0-2,5:100", [DeviceSpecification("cpu", 100, (0, 1, 2, 5))]),
        ("cpu*2:1MB", [DeviceSpecification("cpu", 10**6)] * 2),
        ("process:1MB", [DeviceSpecification("process", 10**6)]),
        ("ray://head:1", [DeviceSpecification("ray", address="ray://head:1")]),
    ],
)
def test_texts(text, expected):
    assert parse_specifications(text) == expected
    assert expected[0].backend == "cpu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no device; for example cpu, cpu:2GiB"),
        ("2cpu", "'2cpu' is no device"),
        ("cpu*0", "is 0 devices"),
        ("cpu*9999", "is 9999 devices"),
        ("cpu:2XB", "'2XB' is no size of memory"),
        ("cpu@1-", "'1-' is no list of cores"),
    ],
)
def test_texts_that_are_no_device(text, message):
    with pytest.raises(GlowError, match=message.replace("*", r"\*")):
        parse_specifications(text)


def test_sizes():
    assert [parse_bytes(text) for text in ("7", "7B", "2KiB")] == [7, 7, 2048]


def test_devices_have_names_of_their_own():
    devices = open_devices(["cpu", "interpreter", "cpu:1GiB"])
    assert [one.name for one in devices] == ["cpu:0", "interpreter:0", "cpu:1"]
    assert devices[2].memory().limit_bytes == GIB
    with pytest.raises(GlowError, match="two devices have the name 'cpu:0'"):
        open_devices(["cpu", devices[0]])
    for device in devices:
        device.close()
    with pytest.raises(GlowError, match="unknown backend 'gpu'"):
        open_devices("gpu")
    with pytest.raises(GlowError, match="a host needs a device"):
        open_devices([])
