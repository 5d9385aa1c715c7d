"""Strategy `user`: a map from names of nodes to devices.

    --partition='devices=cpu,interpreter strategy=user map=conv1=cpu:0,fc=interpreter'

A network begins on the first device. A node that the map does not name is where the last node is
that it reads from, so that a map names the nodes where the device changes; one that reads from
none stays with the node before it. A name is that of a node or of its result; `map=FILE` reads a
JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from glow.diagnostics import did_you_mean
from glow.dialects.errors import GlowError
from glow.passes.graph.partition.devices import PartitionDevice, device_named
from glow.passes.graph.partition.graph import Unit, UnitGraph, names_of


def user_devices(
    graph: UnitGraph, devices: Sequence[PartitionDevice], named: Mapping[str, str]
) -> list[int]:
    """The device of each unit; raises GlowError for names that do not fit the network."""
    wanted = {name: device_named(device, devices) for name, device in named.items()}
    _check_names(graph, wanted)
    chosen: list[int] = []
    for number, unit in enumerate(graph.units):
        before, device = graph.predecessors[number], _named(unit, wanted, devices)
        if device is None:
            earlier = max(before) if before else number - 1
            device = chosen[earlier] if earlier >= 0 else 0
        chosen.append(device)
    return chosen


def _named(
    unit: Unit, wanted: Mapping[str, int], devices: Sequence[PartitionDevice]
) -> int | None:
    """The device that the map has for a unit; raises GlowError where there are two."""
    found: dict[int, str] = {}
    for op in unit.ops:
        for name in names_of(op):
            if name in wanted:
                found.setdefault(wanted[name], name)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise GlowError(
            f"'{first}' on {devices[one].name} and '{second}' on {devices[other].name} "
            f"cannot be apart: {unit.together or 'they are one node'}",
            hint="map them to one device",
        )
    return next(iter(found), None)


def _check_names(graph: UnitGraph, wanted: Mapping[str, int]) -> None:
    """Raise GlowError for a name of the map that no node has."""
    known = {name for op in graph.ops for name in names_of(op)}
    for name in wanted:
        if name not in known:
            raise GlowError(
                f"the map names '{name}', and there is no such node"
                f"{did_you_mean(name, known)}"
            )


def parse_map(texts: Sequence[str]) -> dict[str, str]:
    """The map of `name=device` texts, or of the JSON file that the only text names."""
    if len(texts) == 1 and "=" not in texts[0]:
        return _read_map(Path(texts[0]))
    found: dict[str, str] = {}
    for text in texts:
        name, equals, device = text.rpartition("=")
        if not (name and equals and device):
            raise GlowError(
                f"'{text}' is no name=device", hint="such as map=conv1=cpu:0"
            )
        if found.setdefault(name, device) != device:
            raise GlowError(f"the map names '{name}' twice")
    return found


def _read_map(path: Path) -> dict[str, str]:
    try:
        read = cast(object, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot read the map {path}: {reason}") from error
    except ValueError as error:
        raise GlowError(f"the map {path} is no JSON: {error}") from error
    if not isinstance(read, dict):
        raise GlowError(f"the map {path} is no object of names and devices")
    pairs = cast("dict[str, object]", read)
    for name, device in pairs.items():
        if not isinstance(device, str):
            raise GlowError(f"the map {path} says no device for '{name}'")
    return cast("dict[str, str]", pairs)
