"""Weights inside the text of a program, as the resources of MLIR's own `builtin` dialect.

Text that goes through a pipe has no file beside it, so its weights follow it:

    %w = glow.constant dense_resource<w> : tensor<2xf32>
    ...
    {-# dialect_resources: { builtin: { w: "0x040000000000803F00000040" } } #-}

mlir-opt and xdsl-opt keep them. In memory they are entries of the weight table, as always.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import IO, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError
from glow.dialects.locations import node_name, place_of
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.text import unused_name
from glow.dialects.weight_table import Array, dtype_of
from glow.dialects.weights import HOLDERS, held_type, references, weights_of

ALIGNMENT = 4
"""The alignment that a blob asks for, in its first four bytes."""

PIECE_BYTES = 1 << 20
"""So many bytes are spelled at a time."""


def take_resources(module: ModuleOp, keys: Mapping[int, str]) -> None:
    """Move the weights that came inside the text to the module's weight table.

    `keys` are the resources that constants were made of, by their `id`. Raises GlowError
    at an operation whose resource is missing or has another size.
    """
    for op in module.walk():
        value = op.properties.get("value") if op.name in HOLDERS else None
        if isinstance(value, DenseResourceAttr):
            key = value.resource_handle.data
            raise GlowError(
                f"the resource '{key}' is missing from the text",
                node=node_name(op),
                location=place_of(op),
            )
        if isa(value, DenseIntOrFPElementsAttr) and id(value) in keys:
            table, key = weights_of(module), keys[id(value)]
            dtype = dtype_of(value.get_element_type())
            array = np.frombuffer(value.data.data, dtype).reshape(value.get_shape())
            if key in table and table[key].tobytes() != array.tobytes():
                key = table.unique_name(key)
            table[key] = array
            op.properties["value"] = SymbolRefAttr(key)


def put_weights_inline(module: ModuleOp) -> Mapping[str, Array]:
    """Let a module that is to be printed name resources for weights; these by key."""
    table = weights_of(module)
    table.file = table.digest = None
    keys: dict[str, str] = {}
    taken = set(other_resources(module))
    for op, name in list(references(module)):
        if name not in table:
            continue
        if name not in keys:
            keys[name] = unused_name(re.sub(r"[^\w$.]|^(?=\d)", "_", name), taken)
            taken.add(keys[name])
        held = cast("TensorType[Attribute]", held_type(op.results[0].type))
        plain = tensor_type(shape_of(held), element_of(held))
        op.properties["value"] = DenseResourceAttr.from_params(keys[name], plain)
    return {key: table[name] for name, key in keys.items()}


def other_resources(module: ModuleOp) -> Iterable[str]:
    """The keys of the resources that a module names already."""
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, DenseResourceAttr):
                yield attribute.resource_handle.data


def resource_characters(array: Array) -> int:
    """How long the hexadecimal string of a resource is."""
    return 2 * (ALIGNMENT + array.nbytes) + len("0x")


def print_resources(arrays: Mapping[str, Array], output: IO[str]) -> None:
    """Write the section of resources that follows a module's text."""
    if not arrays:
        return
    output.write("\n{-#\n  dialect_resources: {\n    builtin: {\n")
    for number, (key, array) in enumerate(arrays.items()):
        output.write(",\n" if number else "")
        output.write(f'      {key}: "0x{ALIGNMENT.to_bytes(4, "little").hex()}')
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(content), PIECE_BYTES):
            piece = content[start : start + PIECE_BYTES]
            output.write(piece.tobytes().hex().upper())
        output.write('"')
    output.write("\n    }\n  }\n#-}\n")
