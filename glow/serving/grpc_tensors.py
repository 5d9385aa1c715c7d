"""Tensors of the gRPC protocol: raw bytes beside the messages, or typed elements in them.

Raw bytes are views of what came from the socket. Typed elements are for clients without a
library: `ModelInfer` answers in the form in which it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np

from glow.serving.datatypes import checked_shape, dtype_named, name_of, tensor_of
from glow.serving.requests import BAD_REQUEST, ServingError

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.serving.messages import InferRequest, InferResponse, Tensor

CONTENTS: Mapping[str, str] = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}
"""The field of typed elements for a data type; 16-bit floats have none."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a request says of an input beside its elements."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    byte_count: int
    has_contents: bool


def input_specs(request: InferRequest) -> Sequence[TensorSpec]:
    """The inputs of a request; raises ServingError for those that can be none."""
    found: dict[str, TensorSpec] = {}
    for place in range(len(request.inputs)):
        tensor = request.inputs[place]
        name = tensor.name
        if name in found:
            _refuse(f"input {name!r:.80} is given twice")
        shape, dtype = checked_shape(name, tensor.shape), dtype_named(tensor.datatype)
        size = prod(shape) * dtype.itemsize
        found[name] = TensorSpec(name, shape, dtype, size, tensor.HasField("contents"))
    if not found:
        _refuse("a request needs inputs")
    return tuple(found.values())


def decode_inputs(
    request: InferRequest, specs: Sequence[TensorSpec], raw: Sequence[memoryview]
) -> Mapping[str, Array]:
    """The inputs of a request by name; raises ServingError for what does not add up."""
    if not raw:
        return {
            spec.name: _decode_elements(request.inputs[place], spec.dtype, spec.shape)
            for place, spec in enumerate(specs)
        }
    if len(raw) != len(specs):
        _refuse(
            f"the request has {len(specs)} inputs, but raw_input_contents of {len(raw)}"
        )
    return {
        spec.name: _decode(spec, data) for spec, data in zip(specs, raw, strict=True)
    }


def _decode(spec: TensorSpec, raw: memoryview) -> Array:
    name, shape = spec.name, spec.shape
    if spec.has_contents:
        _refuse(f"input {name!r:.80} has both contents and raw_input_contents")
    if raw.nbytes != spec.byte_count:
        _refuse(
            f"input {name!r:.80} of {name_of(spec.dtype)}{list(shape)} has "
            f"{spec.byte_count} bytes, but raw_input_contents {raw.nbytes}"
        )
    return tensor_of(name, raw, shape, spec.dtype)


def _decode_elements(
    tensor: Tensor, dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> Array:
    """The array of typed elements; NumPy refuses those that the dtype cannot hold."""
    if tensor.datatype not in CONTENTS:
        _refuse(f"{tensor.datatype} tensors are sent as raw_input_contents")
    elements = _elements(tensor)
    if len(elements) != prod(shape):
        _refuse(
            f"input {tensor.name!r:.80} of shape {list(shape)} has {prod(shape)} "
            f"elements, but {CONTENTS[tensor.datatype]} {len(elements)}"
        )
    try:
        return np.array(list(elements), dtype).reshape(shape)
    except OverflowError:
        _refuse(f"input {tensor.name!r:.80} has an element beyond {tensor.datatype}")


def can_be_typed(outputs: Mapping[str, Array]) -> bool:
    """Whether all outputs have a field of typed elements."""
    return all(name_of(array.dtype) in CONTENTS for array in outputs.values())


def add_outputs(response: InferResponse, outputs: Mapping[str, Array]) -> None:
    """Add outputs with typed elements to a response."""
    for name, array in outputs.items():
        datatype = name_of(array.dtype)
        tensor = response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        _elements(tensor).extend(array.ravel().tolist())


def raw_bytes(array: Array) -> memoryview:
    """The elements as they go behind a response."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _elements(tensor: Tensor) -> MutableSequence[float]:
    field = CONTENTS[tensor.datatype]
    return cast("MutableSequence[float]", getattr(tensor.contents, field))


def _refuse(message: str) -> NoReturn:
    raise ServingError(BAD_REQUEST, message)
