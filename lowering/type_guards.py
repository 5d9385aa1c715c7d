"""Narrows xDSL's generic types: `isinstance` leaves their parameters unknown.

Classes of types are final, and `isinstance` takes long to say no of abstract ones.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def is_vector(type_: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether a type is a vector."""
    return type(type_) is VectorType


def is_memref(type_: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    """Whether a type is a memref."""
    return type(type_) is MemRefType


def is_integer(type_: Attribute) -> TypeGuard[IntegerType]:
    """Whether a type is an integer; index is not."""
    return type(type_) is IntegerType
