"""A program on a device as the cache of models keeps it: steps, kernels, and where all is.

The first object is a table of the steps and of the kernels' names, the others are the kernels, as
the device's backend has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from glow.backends.cpu.program.device_steps import Entry
from glow.runtime.native_program import (
    Argument,
    Array,
    NativeProgram,
    argument_table,
    initial_bytes,
)

BYTES = np.dtype(np.uint8)


class DeviceCode(NamedTuple):
    """What a device runs."""

    steps: Sequence[Entry]
    kernels: Mapping[str, bytes]
    """By name."""


def objects_of(code: DeviceCode) -> Sequence[bytes]:
    """Code as the objects of a program."""
    table = {"steps": code.steps, "kernels": list(code.kernels)}
    return [json.dumps(table).encode(), *code.kernels.values()]


def code_of(program: NativeProgram) -> DeviceCode:
    """The code that `objects_of` was given."""
    table, *kernels = program.objects
    read: dict[str, Any] = json.loads(table)
    return DeviceCode(read["steps"], dict(zip(read["kernels"], kernels, strict=True)))


def sizes_of(program: NativeProgram) -> Mapping[str, int]:
    """The bytes of each space."""
    return {
        "constants": program.constants.nbytes,
        "mutables": program.mutables_size,
        "activations": program.activations_size,
    }


def reports_of(program: NativeProgram) -> Argument:
    """Where the bytes of errors are."""
    start = program.table_offset + argument_table(program).size
    return Argument(start, (len(program.reports),), BYTES)


def new_variables(program: NativeProgram) -> Mapping[str, Array]:
    """Arrays of the variables' initial values, by name."""
    found: dict[str, Array] = {}
    for each in program.variables:
        found[each.name] = np.zeros(each.place.shape, each.place.dtype)
        if (initial := initial_bytes(program, each)) is not None:
            found[each.name].reshape(-1).view(BYTES)[:] = initial
    return MappingProxyType(found)
