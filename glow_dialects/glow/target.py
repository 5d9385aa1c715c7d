"""The attribute that says for which target a program is lowered.

    builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3",
        arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64,
        vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64,
        features = ["fma"]}>} { ... }

From the loops level on it is the dictionary alone, since upstream MLIR reads that text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

NUMBER, TEXT, TEXTS = "a number", "a string", "a list of strings"

ENTRIES: Mapping[str, str] = {
    "name": TEXT,
    "arch": TEXT,
    "core": TEXT,
    "vector_bytes": NUMBER,
    "vector_registers": NUMBER,
    "l1_bytes": NUMBER,
    "l2_bytes": NUMBER,
    "features": TEXTS,
}
"""The entries, all of which there are, and what each is."""


_NONE: Mapping[str, Attribute] = {}


def wrong_entries(entries: Mapping[str, Attribute]) -> str | None:
    """What is wrong with the entries of a target, in a line."""
    unknown = [name for name in entries if name not in ENTRIES]
    lacking = [name for name in ENTRIES if name not in entries]
    if unknown:
        return f"has no entry '{unknown[0]}': there are {', '.join(ENTRIES)}"
    if lacking:
        return f"lacks {', '.join(lacking)}"
    for name, wanted in ENTRIES.items():
        if not _fits(entries[name], wanted):
            return f"has {entries[name]} as its {name}, which is {wanted}"
    return None


def _fits(value: Attribute, wanted: str) -> bool:
    if wanted == TEXT:
        return isinstance(value, StringAttr)
    if wanted == TEXTS:
        return isinstance(value, ArrayAttr) and all(
            isinstance(item, StringAttr) for item in cast("ArrayAttr[Attribute]", value)
        )
    number = cast("IntegerAttr", value) if isinstance(value, IntegerAttr) else None
    return number is not None and number.type == i64 and number.value.data >= 0


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """The target of a program, by its entries."""

    name = "glow.target"
    entries: DictionaryAttr = param_def()

    def verify(self) -> None:
        """All entries are there and of their kind, and there is no other one."""
        wrong = wrong_entries(self.entries.data)
        if wrong is not None:
            raise VerifyException(f"{self.name} {wrong}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<{name = "x86-64-v3", ...}>`."""
        with parser.in_angle_brackets():
            start = parser.pos
            entries = parser.parse_attribute()
            wrong = wrong_entries(
                entries.data if isinstance(entries, DictionaryAttr) else _NONE
            )
            if wrong is not None:
                parser.raise_error(f"{cls.name} {wrong}", start)
        return [entries]
