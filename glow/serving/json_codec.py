"""Requests and responses as JSON, with tensors in it or, as bytes, behind it.

The layout is that of the Open Inference Protocol v2 and of its binary extension (Triton): a
header of HTTP says where the JSON ends, and each tensor's parameter `binary_data_size` how
many of the bytes behind it are its own, in the order of the tensors. Bytes are views of the
body: nothing is copied. All numbers are little endian.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any, NoReturn, cast

import numpy as np

from glow.compiled_model import Array
from glow.serving.datatypes import (
    MOST_AXES,
    checked_shape,
    dtype_named,
    name_of,
    tensor_of,
)
from glow.serving.requests import BAD_REQUEST, InferenceResponse, ServingError


@dataclass(slots=True)
class WantedOutput:
    """An output that a request asks for."""

    name: str
    is_binary: bool


@dataclass(slots=True)
class DecodedRequest:
    """What a body says."""

    id: str
    inputs: Mapping[str, Array]
    outputs: Sequence[WantedOutput]
    is_binary: bool
    """Whether outputs are bytes unless they say otherwise."""
    parameters: Mapping[str, Any]


def refuse(message: str) -> NoReturn:
    """Raise the error of a request that is wrong."""
    raise ServingError(BAD_REQUEST, message)


def decode_request(body: bytes, json_size: int | None) -> DecodedRequest:
    """What a body says; `json_size` is how much of it is JSON, None for all."""
    if json_size is not None and not 0 <= json_size <= len(body):
        refuse(f"the header says {json_size} bytes of JSON, the body has {len(body)}")
    text = body if json_size is None else body[:json_size]
    document = parse_json(text)
    reader = _BinaryReader(memoryview(body), len(text), json_size is not None)
    inputs: dict[str, Array] = {}
    for entry in _list(document, "inputs"):
        name = _name(entry, "input")
        if name in inputs:
            refuse(f"input {name!r:.80} is given twice")
        inputs[name] = _tensor(name, entry, reader)
    reader.finish()
    if not inputs:
        refuse("a request needs inputs")
    parameters = _parameters(document)
    is_binary = parameters.get("binary_data_output") is True
    outputs = [_wanted(one, is_binary) for one in _list(document, "outputs")]
    found = document.get("id", "")
    if not isinstance(found, str):
        refuse("the id is no text")
    return DecodedRequest(found, inputs, outputs, is_binary, parameters)


def parse_json(text: bytes) -> dict[str, Any]:
    """The object that the text spells."""
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it nests too deeply"
        raise ServingError(BAD_REQUEST, f"not JSON: {reason:.200}") from None
    if not isinstance(document, dict):
        refuse("a request is a JSON object")
    return cast("dict[str, Any]", document)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON; send the tensor as bytes")


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    found = document.get(key, [])
    if not isinstance(found, list):
        refuse(f"{key} is no list")
    return cast("list[Any]", found)


def _parameters(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    found = entry.get("parameters", {})
    if not isinstance(found, dict):
        refuse("parameters are no object")
    return cast("dict[str, Any]", found)


def _name(entry: Any, kind: str) -> str:
    name = (
        cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
    )
    if not isinstance(name, str):
        refuse(f"an {kind} has no name")
    return name


def _wanted(entry: Any, is_binary: bool) -> WantedOutput:
    name = _name(entry, "output")
    flag = _parameters(entry).get("binary_data", is_binary)
    if not isinstance(flag, bool):
        refuse(f"output {name!r:.80}: binary_data is neither true nor false")
    return WantedOutput(name, flag)


def _shape(name: str, entry: Mapping[str, Any]) -> tuple[int, ...]:
    shape = entry.get("shape")
    if not isinstance(shape, list):
        refuse(f"input {name!r:.80} has no shape")
    return checked_shape(name, cast("list[object]", shape))


def _tensor(name: str, entry: Mapping[str, Any], reader: _BinaryReader) -> Array:
    shape = _shape(name, entry)
    dtype = dtype_named(entry.get("datatype"))
    size = _parameters(entry).get("binary_data_size")
    if size is None:
        return from_numbers(name, entry.get("data"), shape, dtype)
    if "data" in entry:
        refuse(f"input {name!r:.80} has both data and binary_data_size")
    wanted = prod(shape) * dtype.itemsize
    if type(size) is not int or size != wanted:
        refuse(
            f"input {name!r:.80} of {list(shape)} needs {wanted} bytes, not {size!r:.40}"
        )
    return tensor_of(name, reader.take(name, size), shape, dtype)


class _BinaryReader:
    """The bytes behind the JSON, from which tensors take theirs in order."""

    def __init__(self, body: memoryview, start: int, is_there: bool) -> None:
        self.body = body
        self.position = start
        self.is_there = is_there

    def take(self, name: str, size: int) -> memoryview:
        """The next bytes."""
        if not self.is_there:
            refuse(
                "bytes behind the JSON need the header Inference-Header-Content-Length"
            )
        start, end = self.position, self.position + size
        if end > len(self.body):
            left = len(self.body) - start
            refuse(f"input {name!r:.80} needs {size} bytes, and there are {left}")
        self.position = end
        return self.body[start:end]

    def finish(self) -> None:
        """Raise for bytes that belong to no tensor."""
        left = len(self.body) - self.position
        if left:
            refuse(f"{left} bytes behind the tensors belong to none")


def from_numbers(
    name: str, data: Any, shape: tuple[int, ...], dtype: np.dtype[np.generic]
) -> Array:
    """The tensor of a list of numbers, nested as the shape or flat."""
    if not isinstance(data, list):
        refuse(f"input {name!r:.80} has no data")
    flat = _flattened(name, cast("list[Any]", data), dtype)
    count = prod(shape)
    try:
        array = _numbers_in(cast("list[Any]", data) if flat else [], dtype)
    except ValueError:
        refuse(f"input {name!r:.80}: the lists of data are not of one length")
    except OverflowError:
        refuse(f"input {name!r:.80}: a number is beyond {name_of(dtype)}")
    fits = array.shape in (shape, (count,))
    if count == 0 and array.size == 0:  # Empty lists do not say what would be in them.
        fits = fits or array.shape == shape[: array.ndim]
    if not fits:
        refuse(
            f"input {name!r:.80} of {list(shape)} needs {count} numbers, not data "
            f"of {list(array.shape)}"
        )
    return array.reshape(shape)


def _flattened(name: str, data: list[Any], dtype: np.dtype[np.generic]) -> list[Any]:
    """The numbers of nested lists; anything else in them is refused.

    It is refused before there is an array: one long text among a million numbers would be
    an array of a million long texts.
    """
    allowed = {bool} if dtype.kind == "b" else {int}
    if dtype.kind not in "biu":
        allowed = {int, float}
    axes = 1
    while (kinds := set(map(type, data))) == {list} and axes < MOST_AXES:
        data, axes = list(chain.from_iterable(data)), axes + 1
    if not kinds <= allowed:
        if list in kinds:
            refuse(f"input {name!r:.80}: the lists of data are not of one depth")
        refuse(f"input {name!r:.80}: data are no numbers of {name_of(dtype)}")
    return data


def _numbers_in(data: list[Any], dtype: np.dtype[np.generic]) -> Array:
    """Numbers in the dtype; raises OverflowError for those that are none of it."""
    if dtype.kind in "biu":
        return np.array(data, dtype)
    array = np.array(data, np.float64)
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if not np.isfinite(converted).all():
        raise OverflowError
    return converted


def encode_response(
    response: InferenceResponse, request: DecodedRequest
) -> tuple[list[bytes | memoryview], int | None]:
    """The parts of a body, and how much of it is JSON where bytes follow."""
    wanted = request.outputs or [
        WantedOutput(name, request.is_binary) for name in response.outputs
    ]
    entries: list[dict[str, Any]] = []
    parts: list[bytes | memoryview] = []
    for one in wanted:
        array = response.outputs[one.name]
        entry: dict[str, Any] = {
            "name": one.name,
            "datatype": name_of(array.dtype),
            "shape": list(array.shape),
        }
        if one.is_binary:
            entry["parameters"] = {"binary_data_size": array.nbytes}
            parts.append(bytes_of(array))
        else:
            entry["data"] = _numbers(one.name, array)
        entries.append(entry)
    document: dict[str, Any] = {
        "model_name": response.model,
        "model_version": response.version,
        "outputs": entries,
    }
    if response.id:
        document["id"] = response.id
    text = json.dumps(document, separators=(",", ":")).encode()
    has_bytes = any(one.is_binary for one in wanted)
    return [text, *parts], len(text) if has_bytes else None


def bytes_of(array: Array) -> memoryview:
    """The elements in order, without a copy where they are in order already."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _numbers(name: str, array: Array) -> list[Any]:
    """The elements as JSON's numbers, which NaN and infinity are not."""
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float32)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ServingError(
            BAD_REQUEST,
            f"output {name!r:.80} has NaN or infinity, which JSON has no numbers for; "
            "ask for binary data",
        )
    return array.reshape(-1).tolist()
