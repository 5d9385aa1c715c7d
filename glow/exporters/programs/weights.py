"""Where the weights of a program go.

    resource     "stablehlo.constant"() <{value = dense_resource<w> : ...}>, bytes behind the text
    arguments    further arguments of the function, behind its inputs
    parameters   "util.global" of IREE, read from a file beside the text

The last two leave the values in a safetensors file, under the names that the program says.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import (
    DenseResourceAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    SSAValue,
)

from glow.dialects.errors import GlowError
from glow.dialects.foreign.iree import FlowParameterAttr
from glow.dialects.node import tensor_type
from glow.dialects.text import unused_name
from glow.dialects.weight_table import Array, element_type_of
from glow.exporters import ARGUMENTS, RESOURCE
from glow.exporters.programs.operations import operation
from glow.frontends.inline_weights import resource_characters

MOST_CHARACTERS = 63 << 20
"""Longer text stops editors, and takes other tools minutes to read."""

SCOPE = "model"
"""What IREE's tools call the file: `--parameters=model=FILE`."""


class Weights:
    """Collects the weights of a program, each under a name of its own."""

    def __init__(self, form: str, entry: Block, constant: tuple[str, str]) -> None:
        self.form = form
        self.arrays: dict[str, Array] = {}
        self.globals: list[Operation] = []
        self.loads: list[Operation] = []
        self._entry, self._constant = entry, constant

    def read(self, array: Array, hint: str) -> SSAValue:
        """The value of a new weight."""
        name = unused_name(re.sub(r"[^\w$.]|^(?=\d)", "_", hint), self.arrays)
        self.arrays[name] = array
        held = tensor_type(array.shape, element_type_of(array.dtype))
        if self.form == ARGUMENTS:
            value = self._entry.insert_arg(held, len(self._entry.args))
        else:
            self.loads.append(self._load(name, held))
            value = self.loads[-1].results[0]
        value.name_hint = name if SSAValue.is_valid_name(name) else None
        return value

    def _load(self, name: str, held: TensorType[Attribute]) -> Operation:
        if self.form == RESOURCE:
            resource = DenseResourceAttr.from_params(name, held)
            name, value = self._constant
            return operation(name, (), [held], {value: resource})
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "sym_visibility": StringAttr("private"),
            "type": held,
            "initial_value": FlowParameterAttr.new(
                [StringAttr(SCOPE), StringAttr(name), held]
            ),
        }
        self.globals.append(operation("util.global", properties=properties))
        return operation(
            "util.global.load", (), [held], {"global": SymbolRefAttr(name)}
        )

    def check_length(self) -> None:
        """Raise GlowError where the text would be too long."""
        if self.form != RESOURCE:
            return
        count = sum(resource_characters(array) for array in self.arrays.values())
        if count > MOST_CHARACTERS:
            raise GlowError(
                f"the weights would take {count >> 20} MB of text",
                hint="--weights=parameters -o FILE writes them beside it",
            )
