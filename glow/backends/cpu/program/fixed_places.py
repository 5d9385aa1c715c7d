"""Gives the constants and arguments of a program new places, which are known at compile time.

In a bundle nothing moves at run time: arguments are where its header says. Weights stand behind
each other without the space that pages take, and those of equal bytes are there once, also
where they belong to several networks.

    constants: [0 bias][4096 weights][8192 bias]  ->  [0 bias][64 weights]
    mutables:  [0 table][64 image][128 result]    ->  [0 image][64 result]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from glow.backends.bundle_program import Bytes
from glow.backends.cpu.program.program import (
    BufferBinding,
    Guard,
    KernelCall,
    Load,
    MemorySpace,
    Program,
    Step,
)
from glow.dialects.weight_table import Array, DeferredArray


class ConstantPool:
    """The weights of a bundle: each content once, at a multiple of the alignment."""

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self._offsets: dict[tuple[bytes, int], int] = {}
        self._parts: list[tuple[int, Bytes]] = []
        self.size = 0

    def add(self, array: Array | DeferredArray) -> int:
        """Where an array is from now on."""
        content = bytes_of(array)
        key = sha256(content.data).digest(), len(content)
        if key not in self._offsets:
            self._offsets[key] = self.size
            self._parts.append((self.size, content))
            self.size = round_up(self.size + len(content), self.alignment)
        return self._offsets[key]

    def content(self) -> Bytes:
        """All weights, with zeros between them."""
        space = np.zeros(self.size, np.uint8)
        for offset, content in self._parts:
            space[offset : offset + len(content)] = content
        return space


def round_up(size: int, alignment: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // alignment) * alignment


def bytes_of(array: Array | DeferredArray) -> Bytes:
    """The bytes of a weight as kernels read them, packed now if that is still to be done."""
    if isinstance(array, DeferredArray):
        plain = np.zeros(array.shape, array.dtype)
        array.write(plain)
        array = plain
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def with_fixed_places(
    program: Program, pool: ConstantPool, alignment: int
) -> tuple[Program, int]:
    """The program with its weights in a pool, and its arguments behind each other.

    Variables are at the beginning; the bytes for errors stand behind the arguments, from the
    second result on.
    """
    constants = {offset: pool.add(array) for offset, array in program.constants}
    mutables, position = {0: 0}, 0
    states = [variable.binding for variable in program.variables]
    for each in (*states, *program.arguments):
        mutables[each.offset] = position
        position = round_up(position + each.size, alignment)
    if program.reports:
        mutables[program.reports_offset] = position
    move = Move({"constants": constants, "mutables": mutables, "activations": {0: 0}})
    sizes: dict[MemorySpace, int] = {
        **program.sizes,
        "constants": pool.size,
        "mutables": round_up(position + len(program.reports), alignment),
    }
    moved = replace(
        program,
        steps=rebound(program.steps, move),
        constants=[],
        arguments=[move(argument) for argument in program.arguments],
        variables=[
            replace(each, binding=move(each.binding)) for each in program.variables
        ],
        sizes=sizes,
        has_fixed_arguments=True,
    )
    return moved, position


class Move:
    """Moves bindings with the parts of their spaces: old starts to new ones."""

    def __init__(self, places: Mapping[MemorySpace, Mapping[int, int]]) -> None:
        self._places = places
        self._starts = {space: sorted(moved) for space, moved in places.items()}

    def __call__(self, binding: BufferBinding) -> BufferBinding:
        """The binding as far from the new start of its part as it was from the old one."""
        starts = self._starts[binding.space]
        start = starts[bisect_right(starts, binding.offset) - 1]
        moved = self._places[binding.space][start] - start
        return replace(binding, offset=binding.offset + moved)


def rebound(steps: Sequence[Step], move: Move) -> tuple[Step, ...]:
    """The steps on moved bindings."""
    return tuple(_moved(step, move) for step in steps)


def _moved(step: Step, move: Move) -> Step:
    if isinstance(step, KernelCall):
        return replace(step, bindings=tuple(map(move, step.bindings)))
    if isinstance(step, Load):
        return replace(step, binding=move(step.binding))
    if isinstance(step, Guard):
        step = replace(step, reports=move(step.reports))
    return step.with_parts([rebound(part, move) for part in step.parts])
