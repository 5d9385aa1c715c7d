"""The types of a model's inputs and outputs.

A size is what the model declares. Where it leaves one open, it is what `input_shapes`
gives for the input, for the size by its name (`{"N": 4}`), or for another input that has
it under the same name. What is open after that waits for a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from operator import index
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.errors import GlowError, SequencesError
from glow.dialects.node import tensor_type
from glow.dialects.weight_table import Array, element_type_of
from glow.frontends.onnx.messages import ValueInfoProto
from glow.frontends.onnx.tensors import dtype_of_onnx, element_type_of_onnx
from glow.open_sizes import UNNAMED, InputShapes, KnownSizes, OpenTensorInfo, sizes_text

MAX_ELEMENTS = 2**40
"""Larger tensors are a mistake in the model or in `input_shapes`."""

MAX_RANK = 64
"""NumPy has no arrays of more axes."""

Sizes = list[int | str]
"""Declared sizes, names for open ones."""


def open_infos(
    inputs: Sequence[ValueInfoProto],
    shapes_given: InputShapes,
    values: Mapping[str, Array],
) -> list[OpenTensorInfo]:
    """What is known of each input; GlowError for what contradicts the model or itself.

    `values` are those of inputs that are fixed, whose shapes tell sizes too.
    """
    declared = {value.name: declared_sizes(value) for value in inputs}
    known = KnownSizes()
    shapes: dict[str, tuple[int, ...]] = {}
    for name, size in shapes_given.items():
        if name not in declared:
            known.add(name, _whole_number(name, size), "input_shapes")
    for name, sizes in shapes_given.items():
        if name in declared:
            given = (sizes,) if isinstance(sizes, int) else sizes
            shapes[name] = _whole_numbers(f"input '{name}'", given)
    shapes.update((name, array.shape) for name, array in values.items())
    for name, shape in shapes.items():
        what = f"input '{name}'"
        known.bind(what, declared[name] or shape, shape)
        check_input_shape(what, shape)
    return [_info(value, shapes.get(value.name), known) for value in inputs]


def check_names(
    inputs: Sequence[ValueInfoProto], given: InputShapes, values: Iterable[str]
) -> None:
    """Raise GlowError unless all names are those of inputs, or of open sizes."""
    known = [value.name for value in inputs]
    sizes = [
        size
        for value in inputs
        for size in declared_sizes(value) or ()
        if isinstance(size, str) and size != UNNAMED
    ]
    for name in (*given, *values):
        if name in known or (name in given and name in sizes):
            continue
        text = f"the model has no input '{name}'; its inputs are: {_quoted(known)}"
        if sizes and name in given:
            text += f", its open sizes: {_quoted(dict.fromkeys(sizes))}"
        raise GlowError(text)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _whole_number(name: str, size: object) -> int:
    try:
        number = index(cast(int, size))
    except TypeError:
        raise GlowError(
            f"input_shapes must give a whole number for the size '{name}', not "
            f"{str(size)[:80]}"
        ) from None
    if number < 0:
        raise GlowError(f"input_shapes gives the size {number} for '{name}'")
    return number


def _whole_numbers(what: str, given: object) -> tuple[int, ...]:
    try:
        return tuple(index(size) for size in cast(Sequence[int], given))
    except TypeError:
        raise GlowError(
            f"input_shapes must give whole numbers for {what}, not {str(given)[:80]}"
        ) from None


def _info(
    value: ValueInfoProto, given: tuple[int, ...] | None, known: KnownSizes
) -> OpenTensorInfo:
    what = f"input '{value.name}'"
    if not value.type.HasField("tensor_type"):
        raise SequencesError(
            f"{what} is not a tensor", hint="glow.compile takes lists and None for it"
        )
    declared = declared_sizes(value)
    shape = given
    if shape is None and declared is not None:
        shape = known.fill(declared)
    try:
        dtype = dtype_of_onnx(value.type.tensor_type.elem_type)
    except GlowError as error:
        raise GlowError(f"{what}: {error.message}") from None
    info = OpenTensorInfo(value.name, shape, dtype)
    if not info.is_open:
        check_input_shape(what, cast(tuple[int, ...], info.shape))
    return info


def check_default(info: OpenTensorInfo, array: Array | None) -> None:
    """Raise GlowError for an input of another shape than the value that it has."""
    if array is not None and array.shape != info.shape:
        raise GlowError(
            f"input '{info.name}' has a value of shape {list(array.shape)} in the model, "
            f"not {list(info.shape or ())}"
        )


def check_input_shape(what: str, shape: Sequence[int]) -> None:
    """Raise GlowError, which names the input, for a shape that no machine can hold."""
    try:
        check_shape(shape)
    except GlowError as error:
        raise GlowError(f"{what}: {error.message}") from None


def check_shape(shape: Sequence[int]) -> None:
    """Raise GlowError for a shape that no machine can hold."""
    if len(shape) > MAX_RANK:
        raise GlowError(f"{len(shape)} axes are more than {MAX_RANK}")
    if min(shape, default=0) < 0 or prod(shape) > MAX_ELEMENTS:
        raise GlowError(f"{list(shape)} is an impossible shape")


def type_of(info: OpenTensorInfo, otherwise: int) -> TensorType[Attribute]:
    """The type of an input; open sizes are taken as `otherwise`."""
    sizes = [otherwise if isinstance(s, str) else s for s in info.shape or ()]
    return tensor_type(sizes, element_type_of(info.dtype))


def fixed_value(value: ValueInfoProto, given: object) -> Array:
    """The array that an input is fixed to, in its dtype; GlowError if it does not fit.

    One number also stands for an array of one, as of `k` or `axes`.
    """
    what = f"input '{value.name}'"
    array = np.asarray(given)
    dtype = dtype_of_onnx(value.type.tensor_type.elem_type)
    if array.dtype != dtype:
        with np.errstate(all="ignore"):
            converted = array.astype(dtype) if array.dtype.kind in "biuf" else array
        if array.dtype.kind not in "biuf" or (converted != array).any():
            raise GlowError(
                f"{what} has elements {dtype}, which {str(given)[:80]} does not fit"
            )
        array = cast(Array, converted)
    declared = declared_sizes(value)
    if array.ndim == 0 and declared is not None and len(declared) == 1:
        array = array.reshape(1)
    return array


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


def check_tensor(value: ValueInfoProto) -> None:
    """Raise SequencesError for an output that is declared as something else."""
    if value.type.WhichOneof("value") not in (None, "tensor_type"):
        raise SequencesError(
            f"output '{value.name}' is not a tensor", hint="glow.compile gives lists"
        )


def declared_info(value: ValueInfoProto) -> OpenTensorInfo:
    """What the model declares of an output."""
    sizes = declared_sizes(value)
    elements = value.type.tensor_type.elem_type
    dtype = dtype_of_onnx(elements) if elements else np.dtype(np.float32)
    return OpenTensorInfo(value.name, None if sizes is None else tuple(sizes), dtype)


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
            f"output '{value.name}' is declared as {sizes_text(sizes)}, but the graph "
            f"computes {computed}"
        )


def _agree(sizes: Sequence[int | str], shape: Sequence[int]) -> bool:
    return len(sizes) == len(shape) and all(
        isinstance(declared, str) or declared == size
        for declared, size in zip(sizes, shape, strict=True)
    )
