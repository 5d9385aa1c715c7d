"""From the bytes of a `ModelInferRequest` to a request, and from a response to bytes.

What messages say beside their elements is read, and written, once for all that say the same:
clients ask for one model in the same words again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from google.protobuf.message import DecodeError

from glow.serving.app import LONGEST, timeout_of
from glow.serving.datatypes import name_of
from glow.serving.grpc_tensors import (
    TensorSpec,
    add_outputs,
    can_be_typed,
    decode_inputs,
    input_specs,
    raw_bytes,
)
from glow.serving.messages import (
    InferRequest,
    InferResponse,
    message_class,
    parameter_value,
)
from glow.serving.requests import (
    BAD_REQUEST,
    InferenceRequest,
    InferenceResponse,
    ServingError,
)
from glow.serving.wire import take_field, with_field

if TYPE_CHECKING:
    import numpy as np

RAW_INPUTS, RAW_OUTPUTS, RESPONSE_ID = 7, 6, 3
"""The fields `raw_input_contents`, `raw_output_contents` and `id`."""


CACHED = 256
"""How many requests, and responses, are known by what they say beside their elements."""
CACHED_BYTES = 4096
"""The most that such a request has."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """What a `ModelInferRequest` says beside its raw contents."""

    message: InferRequest
    specs: Sequence[TensorSpec]
    outputs: Sequence[str]
    priority: int
    timeout: float | None


def parse(data: bytes) -> tuple[ParsedRequest, Sequence[memoryview]]:
    """A request, and its raw contents as views; raises ServingError where it is none."""
    try:
        rest, raw = take_field(data, RAW_INPUTS)
        cached = len(rest) <= CACHED_BYTES
        return (_parse(rest) if cached else _parse.__wrapped__(rest)), raw
    except (DecodeError, ValueError) as error:
        raise ServingError(BAD_REQUEST, f"no ModelInferRequest: {error}") from None


@lru_cache(CACHED)
def _parse(data: bytes) -> ParsedRequest:
    """A request without its raw contents."""
    parsed = message_class("ModelInferRequest").FromString(data)
    message = cast("InferRequest", parsed)
    given = message.parameters
    parameters = {name: parameter_value(given[name]) for name in given}
    priority = parameters.get("priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise ServingError(BAD_REQUEST, "the parameter priority is no integer")
    outputs = [one.name for one in message.outputs]
    specs, timeout = input_specs(message), timeout_of(parameters)
    return ParsedRequest(message, specs, outputs, priority, timeout)


def inference(
    request: ParsedRequest, raw: Sequence[memoryview], remaining: float | None
) -> InferenceRequest:
    """The request with its elements; `remaining` are the seconds to its deadline."""
    message, timeout = request.message, request.timeout
    if remaining is not None and remaining < LONGEST:
        timeout = remaining if timeout is None else min(timeout, remaining)
    return InferenceRequest(
        message.model_name,
        decode_inputs(message, request.specs, raw),
        message.model_version,
        message.id,
        request.outputs,
        request.priority,
        timeout,
    )


def encode(answer: InferenceResponse, *, is_raw: bool) -> bytes:
    """The `ModelInferResponse`, with raw contents where it is asked for or has to be."""
    outputs = answer.outputs
    if not is_raw and can_be_typed(outputs):
        message = message_class("ModelInferResponse")(
            model_name=answer.model, model_version=answer.version, id=answer.id
        )
        add_outputs(cast("InferResponse", message), outputs)
        return message.SerializeToString()
    tensors = tuple([(name, one.dtype, one.shape) for name, one in outputs.items()])
    head = _head(answer.model, answer.version, tensors)
    if answer.id:
        head = with_field(head, RESPONSE_ID, [memoryview(answer.id.encode())])
    return with_field(head, RAW_OUTPUTS, map(raw_bytes, outputs.values()))


@lru_cache(CACHED)
def _head(
    model: str,
    version: str,
    tensors: Sequence[tuple[str, np.dtype[np.generic], tuple[int, ...]]],
) -> bytes:
    """A response without its id and its raw contents."""
    outputs = [
        {"name": name, "datatype": name_of(dtype), "shape": shape}
        for name, dtype, shape in tensors
    ]
    response = message_class("ModelInferResponse")
    return response(
        model_name=model, model_version=version, outputs=outputs
    ).SerializeToString()
