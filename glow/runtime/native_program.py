"""What a network needs to run natively: code, constants, and where its arguments are.

The cache of models stores it as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from glow.dialects.function_attributes import FilledOutput
from glow.runtime.buffers import aligned_empty
from glow.runtime.constants import Piece
from glow.runtime.executable import Bytes

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Argument:
    """Where an input or output lies in the mutables, and what it is."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return prod(self.shape) * self.dtype.itemsize

    def view(self, mutables: Bytes) -> Array:
        """The argument's part of the mutables as an array."""
        part = mutables[self.offset : self.offset + self.size]
        return part.view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class NativeVariable:
    """A variable's part of the mutables, and where its initial value is among all of them."""

    name: str
    place: Argument
    initial: int | None = None
    """None for zeros."""

    def bytes_of(self, mutables: Bytes) -> Bytes:
        """The variable's part of the mutables."""
        return mutables[self.place.offset : self.place.offset + self.place.size]


@dataclass(frozen=True)
class NativeProgram:
    """Everything that a network needs to run; what the cache of models stores."""

    objects: Sequence[bytes]
    constants: Bytes
    """Weights as the kernels read them."""
    mutables_size: int
    activations_size: int
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    is_small: bool
    """Whether one thread is done sooner than another wakes up."""
    target: str = ""
    """The processor that the code is for."""
    writes_inputs: bool = False
    """Whether the code uses the place of an input for something else."""
    reports: tuple[tuple[str, str], ...] = ()
    """What the bytes behind the table note: each a node, and an error of its data."""
    variables: Sequence[NativeVariable] = ()
    """What calls keep, at the beginning of the mutables."""
    table_offset: int = 0
    """Where in the mutables the table of arguments is."""
    initial: Bytes = field(default_factory=lambda: aligned_empty(0), compare=False)
    """The initial values of variables that do not begin with zeros."""
    pieces: Sequence[Piece] = ()
    """Constants that another program may have, in order; the distances are a table at the end
    of the mutables."""
    digests: Sequence[bytes] = ()
    """The hashes of the pieces, where they are known."""
    filled: Sequence[FilledOutput] = ()
    """The inputs that a call writes into outputs, before the code runs."""

    @property
    def piece_table_offset(self) -> int:
        """Where in the mutables the table of pieces is."""
        return self.mutables_size - piece_table(self).size


def argument_table(program: NativeProgram) -> struct.Struct:
    """What is behind the variables: each argument's distance from the mutables' start."""
    return struct.Struct(f"={len(program.inputs) + len(program.outputs)}q")


def piece_table(program: NativeProgram) -> struct.Struct:
    """What is at the end of the mutables: each piece's distance from the constants' start."""
    return struct.Struct(f"={len(program.pieces)}q")


def initial_bytes(program: NativeProgram, variable: NativeVariable) -> Bytes | None:
    """A variable's initial value; None for zeros."""
    start = variable.initial
    if start is None:
        return None
    return program.initial[start : start + variable.place.size]


def with_values(program: NativeProgram, values: Mapping[str, Array]) -> NativeProgram:
    """A program whose variables begin with dense arrays."""
    initial, variables = bytearray(), list[NativeVariable]()
    for each in program.variables:
        part = values[each.name].reshape(-1).view(np.uint8)
        start = len(initial) if part.any() else None
        initial += b"" if start is None else part.data
        variables.append(replace(each, initial=start))
    values_bytes = np.frombuffer(initial, np.uint8)
    return replace(program, variables=tuple(variables), initial=values_bytes)


def beginning_with_zeros(program: NativeProgram, name: str) -> NativeProgram:
    """A program one of whose variables, if it has that, begins with zeros."""
    if all(each.name != name for each in program.variables):
        return program
    variables = tuple(
        replace(each, initial=None) if each.name == name else each
        for each in program.variables
    )
    return replace(program, variables=variables)


def variable_views(program: NativeProgram, mutables: Bytes) -> Mapping[str, Array]:
    """The variables of a program by name, as arrays."""
    views = {each.name: each.place.view(mutables) for each in program.variables}
    return MappingProxyType(views)
