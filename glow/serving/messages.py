"""The messages of the Open Inference Protocol over gRPC, from `open_inference.binpb`.

The descriptor set is data that any version of protobuf reads; code that `protoc` generates
runs with some versions only. It stands in a pool of its own, since two libraries of a process
(a client of the same protocol, say) may not define the same messages in the common one.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from functools import cache
from importlib.resources import files
from typing import Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

DESCRIPTORS = "open_inference.binpb"
PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"


class Parameter(Protocol):
    """`InferParameter`: a value of one of some types."""

    def WhichOneof(self, oneof_group: str) -> str | None:
        """The field that is set of `parameter_choice`."""
        ...


class Tensor(Protocol):
    """An input of a request or an output of a response."""

    name: str
    datatype: str
    shape: MutableSequence[int]
    contents: object

    def HasField(self, field_name: str) -> bool:
        """Whether `contents` is there."""
        ...


class TensorList(Protocol):
    """Tensors of a message."""

    def add(self, *, name: str, datatype: str, shape: tuple[int, ...]) -> Tensor:
        """Append one."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Tensor: ...
    def __delitem__(self, index: slice, /) -> None: ...


class Named(Protocol):
    """Whatever has a name."""

    name: str


class InferRequest(Protocol):
    """`ModelInferRequest`."""

    model_name: str
    model_version: str
    id: str
    parameters: Mapping[str, Parameter]
    inputs: TensorList
    outputs: MutableSequence[Named]
    raw_input_contents: MutableSequence[bytes]


class InferResponse(Protocol):
    """`ModelInferResponse`."""

    outputs: TensorList
    raw_output_contents: MutableSequence[bytes]


class ModelVersion(Protocol):
    """`ModelReadyRequest` and `ModelMetadataRequest`."""

    name: str
    version: str


class IndexRequest(Protocol):
    """`RepositoryIndexRequest`."""

    ready: bool


class ChangeRequest(Protocol):
    """`RepositoryModelLoadRequest` and `RepositoryModelUnloadRequest`."""

    model_name: str
    parameters: Mapping[str, Parameter]


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    data = files("glow.serving").joinpath(DESCRIPTORS).read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.Add(file)
    return pool


@cache
def message_class(name: str) -> type[message.Message]:
    """The class of the messages of a name, such as `ModelInferRequest`."""
    descriptor = _pool().FindMessageTypeByName(f"{PACKAGE}.{name}")
    return message_factory.GetMessageClass(descriptor)


def methods() -> Mapping[str, tuple[type[message.Message], type[message.Message]]]:
    """The classes of the request and the response of each method of the service."""
    service = _pool().FindServiceByName(SERVICE)
    return {
        name: (
            message_class(method.input_type.name),
            message_class(method.output_type.name),
        )
        for name, method in service.methods_by_name.items()
    }


def parameter_value(parameter: Parameter) -> bool | int | float | str | None:
    """The value of a parameter; None where it has none."""
    field = parameter.WhichOneof("parameter_choice")
    if field is None:
        return None
    return cast("bool | int | float | str", getattr(parameter, field))
