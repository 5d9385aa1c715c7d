"""The attributes of linalg, each one word: `#linalg.iterator_type<parallel>`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from glow.dialects.foreign.words import Word


def _word(name: str) -> type[ParametrizedAttribute]:
    body: dict[str, object] = {
        "name": f"linalg.{name}",
        "__module__": __name__,
        "__doc__": f"`{name}` of linalg.",
    }
    title = "".join(part.capitalize() for part in name.split("_"))
    return irdl_attr_definition(type(f"{title}Attr", (Word,), body))


ATTRIBUTES: Sequence[type[ParametrizedAttribute]] = [
    _word(name)
    for name in (
        "iterator_type",
        "type_fn",
        "unary_fn",
        "binary_fn",
        "ternary_fn",
        "elementwise_kind",
    )
]
