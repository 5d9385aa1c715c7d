"""Sequences and optionals, which are there at import only.

How long a sequence is, and whether an optional has a value, is known once the inputs of a call
are: the importer keeps a list of values, and the program never hears of it. An optional with a
value is that value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from glow.frontends.onnx.graph import Constant

Operand = SSAValue | Constant


@dataclass(frozen=True, eq=False)
class ListValue:
    """A sequence of tensors."""

    elements: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"a sequence of {len(self.elements)} tensors"


@dataclass(frozen=True, eq=False)
class Absent:
    """An optional without a value."""

    def __str__(self) -> str:
        return "an optional without a value"


Held = Operand | ListValue | Absent
"""What a name of a graph may stand for."""


def elements_of(values: Sequence[Held]) -> list[Operand]:
    """All tensors in values, in order."""
    found: list[Operand] = []
    for value in values:
        if isinstance(value, ListValue):
            found.extend(value.elements)
        elif not isinstance(value, Absent):
            found.append(value)
    return found


def tensors_in(values: Sequence[Held]) -> list[Operand] | None:
    """The values if all are tensors."""
    tensors = [v for v in values if not isinstance(v, ListValue | Absent)]
    return tensors if len(tensors) == len(values) else None


def with_elements(values: Sequence[Held], elements: Sequence[Operand]) -> list[Held]:
    """Values of the same form with other tensors."""
    given = iter(elements)
    return [
        value
        if isinstance(value, Absent)
        else ListValue(tuple(next(given) for _ in value.elements))
        if isinstance(value, ListValue)
        else next(given)
        for value in values
    ]


def form_of(value: Held) -> str:
    """What must be alike for two values to have the same form."""
    return "a tensor" if not isinstance(value, ListValue | Absent) else str(value)


def element_names(name: str, value: Held) -> list[str]:
    """The names of the tensors in a value: its own, or `name[0]` and so on."""
    if isinstance(value, ListValue):
        return [f"{name}[{number}]" for number in range(len(value.elements))]
    return [] if isinstance(value, Absent) else [name]


def named_elements(values: Mapping[str, Held]) -> Iterator[tuple[str, Operand]]:
    """The tensors in values with their names."""
    for name, value in values.items():
        yield from zip(element_names(name, value), elements_of([value]), strict=True)
