"""Where an operation came from: what its text says, and where that text stands.

A location that a text states (`loc("conv1")`, `loc(unknown)`) names no file. To say
`file:line:col` in an error all the same, the reader keeps both:

    loc("conv1")  ->  fused<"stated">["conv1", "net.mlir":3:5], printed as "conv1"

A location with a place of its own, and the one of an operation without any, stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

STATED = StringAttr("stated")
"""The mark of a location that was read together with its place."""

WEIGHT = StringAttr("weight")
"""The mark of a location that names a weight of the network."""


def read_location(stated: LocationAttr, place: FileLineColLoc) -> LocationAttr:
    """The location that a text states, with its place in the text if it names none."""
    if any(isinstance(leaf, FileLineColLoc) for leaf in leaves(stated)):
        return stated
    return FusedLoc((stated, place), STATED)


def stated_location(location: FusedLoc) -> Attribute:
    """What the text says of a location that `read_location` or `weight_location` made."""
    parts = location.locations
    if location.metadata in (STATED, WEIGHT) and isa(parts, ArrayAttr[Attribute]):
        return parts.data[0]
    return location


def place_of(operation: Operation) -> str | None:
    """`file:line:col` of an operation, if it came from a file."""
    return next(
        (
            f"{leaf.filename.data}:{leaf.line.data}:{leaf.column.data}"
            for leaf in leaves(operation.location)
            if isinstance(leaf, FileLineColLoc)
        ),
        None,
    )


def node_name(operation: Operation) -> str | None:
    """The name of the network's node that an operation came from."""
    return next(
        (
            leaf.desc.data
            for leaf in leaves(operation.location)
            if isinstance(leaf, NameLoc)
        ),
        None,
    )


def weight_location(name: str) -> FusedLoc:
    """The location of a constant that is a weight of the network, with its exact name."""
    return FusedLoc((named_location(name),), WEIGHT)


def named_weight(operation: Operation) -> str | None:
    """The network's name of the weight that a constant is, if it says so."""
    location = operation.location
    is_weight = isinstance(location, FusedLoc) and location.metadata == WEIGHT
    return node_name(operation) if is_weight else None


def leaves(location: Attribute) -> Iterable[Attribute]:
    """`location` and everything nested in it, outermost first."""
    yield location
    match location:
        case NameLoc():
            yield from leaves(location.location)
        case FusedLoc(locations=locations):
            for inner in getattr(locations, "data", ()):
                yield from leaves(inner)
        case CallSiteLoc():
            yield from leaves(location.callee)
        case _:
            pass


def named_location(name: str) -> NameLoc:
    """The location that carries a network node's name."""
    return NameLoc(StringAttr(name), UnknownLoc())
