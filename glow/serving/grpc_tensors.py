"""Tensors of the gRPC protocol: raw bytes beside the messages, or typed elements in them.

Raw bytes are views of what came from the socket. Typed elements are for clients without a
library: `ModelInfer` answers in the form in which it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
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


def decode_inputs(
    request: InferRequest, raw: Sequence[memoryview]
) -> Mapping[str, Array]:
    """The inputs of a request by name; raises ServingError for what does not add up."""
    if raw and len(raw) != len(request.inputs):
        _refuse(
            f"the request has {len(request.inputs)} inputs, "
            f"but raw_input_contents of {len(raw)}"
        )
    inputs: dict[str, Array] = {}
    for place in range(len(request.inputs)):
        tensor = request.inputs[place]
        if tensor.name in inputs:
            _refuse(f"input {tensor.name!r:.80} is given twice")
        inputs[tensor.name] = _decode(tensor, raw[place] if raw else None)
    if not inputs:
        _refuse("a request needs inputs")
    return inputs


def _decode(tensor: Tensor, raw: memoryview | None) -> Array:
    name = tensor.name
    shape = checked_shape(name, tensor.shape)
    dtype = dtype_named(tensor.datatype)
    if raw is None:
        return _decode_elements(tensor, dtype, shape)
    if tensor.HasField("contents"):
        _refuse(f"input {name!r:.80} has both contents and raw_input_contents")
    if (size := prod(shape) * dtype.itemsize) != raw.nbytes:
        _refuse(
            f"input {name!r:.80} of {tensor.datatype}{list(shape)} has {size} bytes, "
            f"but raw_input_contents {raw.nbytes}"
        )
    return tensor_of(name, raw, shape, dtype)


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


def encode_outputs(
    response: InferResponse, outputs: Mapping[str, Array], *, is_raw: bool
) -> list[memoryview]:
    """Add outputs to a response; returns the bytes that belong behind it, if they are raw."""
    raw: list[memoryview] = []
    for name, array in outputs.items():
        datatype = name_of(array.dtype)
        tensor = response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        if is_raw or datatype not in CONTENTS:
            raw.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        else:
            _elements(tensor).extend(array.ravel().tolist())
    if raw and len(raw) != len(outputs):  # All are raw, or none is.
        del response.outputs[:]
        return encode_outputs(response, outputs, is_raw=True)
    return raw


def _elements(tensor: Tensor) -> MutableSequence[float]:
    field = CONTENTS[tensor.datatype]
    return cast("MutableSequence[float]", getattr(tensor.contents, field))


def _refuse(message: str) -> NoReturn:
    raise ServingError(BAD_REQUEST, message)
