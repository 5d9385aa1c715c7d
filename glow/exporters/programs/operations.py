"""Operations of dialects that others define: a name, operands, types, properties, regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Operation, Region, SSAValue


@cache
def _class_of(name: str) -> type[Operation]:
    return UnregisteredOp.with_name(name)


def operation(
    name: str,
    operands: Sequence[SSAValue] = (),
    types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """The operation, which is printed in the generic form."""
    return _class_of(name).create(
        operands=operands,
        result_types=types,
        properties=properties or {},
        regions=regions,
    )
