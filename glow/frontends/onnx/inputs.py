"""The types of a model's inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
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

HINT = "pass input_shapes"


def input_types(
    inputs: Sequence[ValueInfoProto],
    input_shapes: Mapping[str, Sequence[int]],
    warn: Callable[[str], None],
) -> dict[str, TensorType[Attribute]]:
    """The type of each input by name; open sizes are taken from `input_shapes`.

    An open size that is not given becomes 1, of which `warn` is told.
    """
    return {
        value.name: _input_type(value, input_shapes.get(value.name), warn)
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


def _input_type(
    value: ValueInfoProto, given: Sequence[int] | None, warn: Callable[[str], None]
) -> TensorType[Attribute]:
    what = f"input '{value.name}'"
    if not value.type.HasField("tensor_type"):
        raise GlowError(f"{what} is not a tensor")
    sizes = declared_sizes(value)
    shape = _chosen_shape(what, sizes, given, warn)
    try:
        check_shape(shape)
        return tensor_type(
            shape, element_type_of_onnx(value.type.tensor_type.elem_type)
        )
    except GlowError as error:
        raise GlowError(f"{what}: {error.message}") from None


def check_shape(shape: Sequence[int]) -> None:
    """Raise GlowError for a shape that no machine can hold."""
    if min(shape, default=0) < 0 or prod(shape) > MAX_ELEMENTS:
        raise GlowError(f"{list(shape)} is an impossible shape")


def _chosen_shape(
    what: str,
    sizes: list[int | str] | None,
    given: Sequence[int] | None,
    warn: Callable[[str], None],
) -> tuple[int, ...]:
    """The shape that is given, else the declared one with 1 for open sizes."""
    if given is not None:
        if sizes is not None and len(sizes) != len(given):
            raise GlowError(
                f"{what} has {len(sizes)} axes, but input_shapes gives {list(given)}"
            )
        return tuple(int(size) for size in given)
    if sizes is None:
        raise GlowError(f"the model does not tell the shape of {what}", hint=HINT)
    unknown = [size for size in sizes if isinstance(size, str)]
    if unknown:
        warn(f"{what} has open sizes ({', '.join(unknown)}), taken as 1; {HINT}")
    return tuple(1 if isinstance(size, str) else size for size in sizes)


def declared_sizes(value: ValueInfoProto) -> list[int | str] | None:
    """The declared sizes, names for open ones; None where not even the rank is known."""
    declared = value.type.tensor_type
    if not declared.HasField("shape"):
        return None
    return [
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value > 0
        else dim.dim_param or "?"
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


def check_declared(value: ValueInfoProto, result: SSAValue) -> None:
    """Raise GlowError where an output's declared type contradicts the computed one."""
    declared = value.type.tensor_type
    computed = cast(TensorType[Attribute], result.type)
    shape, sizes = computed.get_shape(), declared_sizes(value)
    if declared.elem_type:
        expected = element_type_of_onnx(declared.elem_type)
        if expected != computed.element_type:
            raise GlowError(
                f"output '{value.name}' is declared with elements {expected}, but the "
                f"graph computes {computed}"
            )
    if sizes is not None and not _agree(sizes, shape):
        declared_text = "x".join(map(str, sizes)) or "scalar"
        raise GlowError(
            f"output '{value.name}' is declared as {declared_text}, but the graph "
            f"computes {computed}"
        )


def _agree(sizes: Sequence[int | str], shape: Sequence[int]) -> bool:
    return len(sizes) == len(shape) and all(
        isinstance(declared, str) or declared == size
        for declared, size in zip(sizes, shape, strict=True)
    )
