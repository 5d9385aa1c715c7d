"""The types of a model's inputs and outputs.

A size is what the model declares; where it leaves one open, what `input_shapes` gives
for it or for another input that has it under the same name; else 1, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from operator import index
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.node import tensor_type
from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.messages import ValueInfoProto
from glow.frontends.onnx.tensors import element_type_of_onnx

MAX_ELEMENTS = 2**40
"""Larger tensors are a mistake in the model or in `input_shapes`."""

MAX_RANK = 64
"""NumPy has no arrays of more axes."""

HINT = "pass input_shapes"
UNNAMED = "?"
"""Stands for an open size without a name."""

Sizes = list[int | str]
"""Declared sizes, names for open ones."""


def input_types(
    inputs: Sequence[ValueInfoProto],
    input_shapes: Mapping[str, Sequence[int]],
    warn: Callable[[str], None],
) -> dict[str, TensorType[Attribute]]:
    """The type of each input by name; open sizes are taken from `input_shapes`.

    An open size that is not given becomes 1, of which `warn` is told.
    """
    declared = {value.name: declared_sizes(value) for value in inputs}
    known: dict[str, int] = {}
    given = {
        name: _given_shape(f"input '{name}'", declared[name], sizes, known)
        for name, sizes in input_shapes.items()
        if name in declared
    }
    return {
        value.name: _input_type(value, given.get(value.name), known, warn)
        for value in inputs
    }


def check_names(inputs: Iterable[ValueInfoProto], names: Iterable[str]) -> None:
    """Raise GlowError unless all names are those of inputs."""
    known = [value.name for value in inputs]
    for name in names:
        if name not in known:
            listed = ", ".join(f"'{name}'" for name in known) or "none"
            raise GlowError(
                f"the model has no input '{name}'; its inputs are: {listed}"
            )


def _given_shape(
    what: str, declared: Sizes | None, given: Sequence[int], known: dict[str, int]
) -> tuple[int, ...]:
    """A shape of `input_shapes`, which must fit; sizes with a name become `known`."""
    try:
        shape = tuple(index(size) for size in given)
    except TypeError:
        raise GlowError(
            f"input_shapes must give whole numbers for {what}, not {str(given)[:80]}"
        ) from None
    if declared is None:
        return shape
    if len(declared) != len(shape):
        raise GlowError(
            f"{what} has {len(declared)} axes, but input_shapes gives {list(shape)}"
        )
    for size, wanted in zip(shape, declared, strict=True):
        if isinstance(wanted, str) and wanted != UNNAMED:
            wanted = known.setdefault(wanted, size)
        if wanted not in (size, UNNAMED):
            raise GlowError(
                f"{what} is declared as {_text(declared)}, with {wanted} where "
                f"input_shapes gives {size} of {list(shape)}"
            )
    return shape


def _text(sizes: Sizes) -> str:
    return "x".join(map(str, sizes)) or "scalar"


def _input_type(
    value: ValueInfoProto,
    given: tuple[int, ...] | None,
    known: Mapping[str, int],
    warn: Callable[[str], None],
) -> TensorType[Attribute]:
    what = f"input '{value.name}'"
    if not value.type.HasField("tensor_type"):
        raise GlowError(f"{what} is not a tensor")
    shape = _declared_shape(what, value, known, warn) if given is None else given
    try:
        check_shape(shape)
        return tensor_type(
            shape, element_type_of_onnx(value.type.tensor_type.elem_type)
        )
    except GlowError as error:
        raise GlowError(f"{what}: {error.message}") from None


def check_shape(shape: Sequence[int]) -> None:
    """Raise GlowError for a shape that no machine can hold."""
    if len(shape) > MAX_RANK:
        raise GlowError(f"{len(shape)} axes are more than {MAX_RANK}")
    if min(shape, default=0) < 0 or prod(shape) > MAX_ELEMENTS:
        raise GlowError(f"{list(shape)} is an impossible shape")


def _declared_shape(
    what: str,
    value: ValueInfoProto,
    known: Mapping[str, int],
    warn: Callable[[str], None],
) -> tuple[int, ...]:
    """The declared shape; open sizes are those that are known, or 1."""
    declared = declared_sizes(value)
    if declared is None:
        raise GlowError(f"the model does not tell the shape of {what}", hint=HINT)
    unknown = [size for size in declared if isinstance(size, str) and size not in known]
    if unknown:
        warn(f"{what} has open sizes ({', '.join(unknown)}), taken as 1; {HINT}")
    return tuple(
        known.get(size, 1) if isinstance(size, str) else size for size in declared
    )


def declared_sizes(value: ValueInfoProto) -> Sizes | None:
    """The declared sizes, names for open ones; None where not even the rank is known."""
    declared = value.type.tensor_type
    if not declared.HasField("shape"):
        return None
    return [
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else dim.dim_param or UNNAMED
        for dim in declared.shape.dim
    ]


def open_inputs(path: Path) -> list[str]:
    """The inputs of a model whose shapes it leaves open, by name."""
    graph = load_model(path).proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    found: list[str] = []
    for value in graph.input:
        sizes = declared_sizes(value)
        is_open = sizes is None or any(isinstance(size, str) for size in sizes)
        if is_open and value.name not in weights:
            found.append(value.name)
    return found


def check_declared(
    value: ValueInfoProto, result: SSAValue, warn: Callable[[str], None]
) -> None:
    """Compare an output's declared type with the computed one.

    Raises GlowError for other elements; another shape is what `warn` is told of, since
    files whose declarations nobody kept up to date are common.
    """
    declared = value.type.tensor_type
    computed = cast(TensorType[Attribute], result.type)
    sizes = declared_sizes(value)
    if declared.elem_type:
        expected = element_type_of_onnx(declared.elem_type)
        if expected != computed.element_type:
            raise GlowError(
                f"output '{value.name}' is declared with elements {expected}, but the "
                f"graph computes {computed}"
            )
    if sizes is not None and not _agree(sizes, computed.get_shape()):
        warn(
            f"output '{value.name}' is declared as {_text(sizes)}, but the graph "
            f"computes {computed}"
        )


def _agree(sizes: Sequence[int | str], shape: Sequence[int]) -> bool:
    return len(sizes) == len(shape) and all(
        isinstance(declared, str) or declared == size
        for declared, size in zip(sizes, shape, strict=True)
    )
