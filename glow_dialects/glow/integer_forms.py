"""The nodes that compute on quantized elements, by the kind of their rule."""

from __future__ import annotations

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.quantized import MOVEMENT_FORMS, arithmetic_form

_FORMS = {
    node: node.INTEGER_FORM for node in glow.NODES if node.INTEGER_FORM is not None
}

ARITHMETIC: tuple[type[NodeOp], ...] = tuple(
    node for node, form in _FORMS.items() if form is arithmetic_form
)
"""Nodes whose result is requantized."""

MOVEMENT: tuple[type[NodeOp], ...] = tuple(
    node for node, form in _FORMS.items() if form in MOVEMENT_FORMS
)
"""Nodes that move or choose elements."""

PRODUCTS: tuple[type[NodeOp], ...] = tuple(
    node for node in _FORMS if node not in (*ARITHMETIC, *MOVEMENT)
)
"""Integer products with 32-bit accumulators."""
