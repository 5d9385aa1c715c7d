"""Verifies modules: one line that says which operation is wrong and where it came from."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    NameLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from glow.diagnostics import one_line
from glow.dialects.errors import GlowError


def place_of(operation: Operation) -> str | None:
    """`file:line:col` of an operation, if it came from a file."""
    return next(
        (
            f"{leaf.filename.data}:{leaf.line.data}:{leaf.column.data}"
            for leaf in _location_leaves(operation.location)
            if isinstance(leaf, FileLineColLoc)
        ),
        None,
    )


def node_of(operation: Operation) -> str | None:
    """The name of the network's node that an operation came from."""
    return next(
        (
            leaf.desc.data
            for leaf in _location_leaves(operation.location)
            if isinstance(leaf, NameLoc)
        ),
        None,
    )


def _location_leaves(location: Attribute) -> Iterable[Attribute]:
    """`location` and everything nested in it, outermost first."""
    yield location
    match location:
        case NameLoc():
            yield from _location_leaves(location.location)
        case FusedLoc(locations=locations):
            for inner in getattr(locations, "data", ()):
                yield from _location_leaves(inner)
        case CallSiteLoc():
            yield from _location_leaves(location.callee)
        case _:
            pass


def verify_module(module: ModuleOp, when: str = "") -> None:
    """Verify; on failure raise one line with the operation and where it came from.

    xDSL's own message carries a dump of the whole module. `when` says after what the
    check ran.
    """
    try:
        module.verify()
    except VerifyException as error:
        raise _locate(module, error, when) from error


def _locate(module: ModuleOp, error: VerifyException, when: str) -> GlowError:
    culprit = _first_invalid(module)
    suffix = f" ({when})" if when else ""
    if culprit is None:
        return GlowError(f"{one_line(str(error))}{suffix}")
    operation, message = culprit
    return GlowError(
        f"'{operation.name}': {message}{suffix}",
        node=node_of(operation),
        location=place_of(operation),
    )


def _first_invalid(module: ModuleOp) -> tuple[Operation, str] | None:
    """The innermost operation that does not verify by itself, and why."""
    for operation in module.walk(reverse=False):
        try:
            operation.verify(verify_nested_ops=False)
        except VerifyException as error:
            return operation, one_line(str(error))
    return None
