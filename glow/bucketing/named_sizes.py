"""Names that a user gives to sizes that a model leaves open without one.

x: [?, 3, ?, ?], input_shapes={"x": (1, 3, 48, "width")}    ->    x: [1, 3, 48, width]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glow.dialects.errors import GlowError
from glow.open_sizes import InputShapes, OpenSignature, OpenTensorInfo, sizes_text


def with_names(
    signature: OpenSignature, shapes: InputShapes
) -> tuple[OpenSignature, InputShapes]:
    """The signature with the names that shapes have for sizes, and the other shapes.

    Raises GlowError for names of what the model does not leave open.
    """
    rest = without_names(shapes)
    named = {
        name: given
        for name, given in shapes.items()
        if name not in rest and not isinstance(given, int)
    }
    inputs = tuple(
        _named(info, named[info.name]) if info.name in named else info
        for info in signature.inputs
    )
    return replace(signature, inputs=inputs), rest


def without_names(shapes: InputShapes) -> InputShapes:
    """The shapes that are not there to name sizes."""
    return {
        name: given
        for name, given in shapes.items()
        if isinstance(given, int) or not any(isinstance(one, str) for one in given)
    }


def _named(info: OpenTensorInfo, given: Sequence[int | str]) -> OpenTensorInfo:
    declared = info.shape if info.shape is not None else tuple(given)
    fits = len(declared) == len(given) and all(
        isinstance(one, str) or one == other
        for one, other in zip(declared, given, strict=False)
    )
    if not fits:
        raise GlowError(
            f"input '{info.name}' is declared as {sizes_text(declared)}, not as "
            f"{sizes_text(given)}"
        )
    return replace(info, shape=tuple(given))
