"""The Open Inference Protocol v2 over gRPC, on the models that HTTP serves too.

One server of `grpc.aio` on the loop of the HTTP service: a request is a task there, and its
computation is a thread's of the host. The client's deadline is the request's, and a client
that goes away cancels its task, which frees its slot.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, TypeAlias, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from glow.host.trace_events import parse_traceparent
from glow.serving.app import EXTENSIONS
from glow.serving.datatypes import name_of
from glow.serving.grpc_codec import encode, inference, parse
from glow.serving.messages import (
    SERVICE,
    ChangeRequest,
    IndexRequest,
    ModelVersion,
    message_class,
    methods,
)
from glow.serving.metrics import UNKNOWN
from glow.serving.repository import READY, sizes_of
from glow.serving.requests import (
    CANCELLED,
    FAILED,
    GRPC_CODES,
    InferenceRequest,
    InferenceResponse,
    serving_error,
)

if TYPE_CHECKING:
    from glow.serving.repository import AnyTensorInfo
    from glow.serving.service import Service

Context: TypeAlias = "grpc.aio.ServicerContext[object, object]"
Method = Callable[[Message, "Context"], Awaitable[Message]]


class Methods:
    """The methods of the protocol, over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.models = service.models

    async def server_live(self, request: Message, context: Context) -> Message:
        """Whether the process answers."""
        return message_class("ServerLiveResponse")(live=True)

    async def server_ready(self, request: Message, context: Context) -> Message:
        """Whether requests are taken."""
        return message_class("ServerReadyResponse")(ready=self.models.is_ready())

    async def model_ready(self, request: Message, context: Context) -> Message:
        """Whether requests for a model are taken."""
        asked = cast("ModelVersion", request)
        is_ready = self.models.is_model_ready(asked.name, asked.version)
        return message_class("ModelReadyResponse")(ready=is_ready)

    async def server_metadata(self, request: Message, context: Context) -> Message:
        """What the server is."""
        return message_class("ServerMetadataResponse")(
            name="glow", version=version_of("glow-xdsl"), extensions=EXTENSIONS
        )

    async def model_metadata(self, request: Message, context: Context) -> Message:
        """What a model takes and gives."""
        asked = cast("ModelVersion", request)
        found = self.models.metadata(asked.name, asked.version)
        return message_class("ModelMetadataResponse")(
            name=found.name,
            versions=found.versions,
            platform="glow",
            inputs=list(map(_tensor, found.inputs)),
            outputs=list(map(_tensor, found.outputs)),
        )

    async def repository_index(self, request: Message, context: Context) -> Message:
        """All models."""
        only_ready = cast("IndexRequest", request).ready
        models = [
            {"name": e.name, "version": e.version, "state": e.state, "reason": e.reason}
            for e in self.models.index()
            if e.state == READY or not only_ready
        ]
        return message_class("RepositoryIndexResponse")(models=models)

    async def load(self, request: Message, context: Context) -> Message:
        """Load a model."""
        await self.models.load(_model_of(request))
        return message_class("RepositoryModelLoadResponse")()

    async def unload(self, request: Message, context: Context) -> Message:
        """Let go of a model."""
        await self.models.unload(_model_of(request))
        return message_class("RepositoryModelUnloadResponse")()

    async def infer(self, data: bytes, context: Context) -> bytes:
        """The outputs of a request, or its error."""
        start, status, model = time.perf_counter(), CANCELLED, ""
        service = self.service
        try:
            service.bodies.hold(len(data))
            try:
                service.enter()
                try:
                    request, raw = parse(data)
                    model = request.message.model_name
                    asked = inference(request, raw, context.time_remaining())
                    answer = await self._infer(asked, context)
                    found = encode(answer, is_raw=bool(raw))
                finally:
                    service.leave()
            finally:
                service.bodies.release(len(data))
            status = 200
            return found
        except Exception as error:
            wrong = serving_error(error)
            status = wrong.status
            model = service.label(model)
            raise wrong from error
        finally:
            seconds = time.perf_counter() - start
            service.count(model or UNKNOWN, "grpc", status, seconds)

    async def _infer(
        self, asked: InferenceRequest, context: Context
    ) -> InferenceResponse:
        tracer = self.service.tracer
        if not tracer.is_on:
            return await self.models.infer(asked)
        headers = dict(context.invocation_metadata() or ())
        parent = parse_traceparent(
            _text(headers.get("traceparent")), _text(headers.get("tracestate"))
        )
        name = f"infer {asked.model}"
        with tracer.span("grpc", name, asked.id, parent) as span:
            asked.span = span.context
            return await self.models.infer(asked)


def _model_of(request: Message) -> str:
    return cast("ChangeRequest", request).model_name


def _tensor(info: AnyTensorInfo) -> Mapping[str, object]:
    return {
        "name": info.name,
        "datatype": name_of(info.dtype),
        "shape": sizes_of(info),
    }


def _text(value: str | bytes | None) -> str:
    return value if isinstance(value, str) else ""


def _reported(method: Method) -> Method:
    """The method, whose errors end the call with their status and one line."""

    async def call(request: Message, context: Context) -> Message:
        try:
            return await method(request, context)
        except Exception as error:
            found = serving_error(error)
            code = GRPC_CODES.get(found.status, GRPC_CODES[FAILED])
            await context.abort(getattr(grpc.StatusCode, code), found.message)
            raise  # `abort` does not return.

    return call


def _handlers(to: Methods) -> dict[str, grpc.RpcMethodHandler[Message, Message]]:
    functions: Mapping[str, Method] = {
        "ServerLive": to.server_live,
        "ServerReady": to.server_ready,
        "ModelReady": to.model_ready,
        "ServerMetadata": to.server_metadata,
        "ModelMetadata": to.model_metadata,
        "RepositoryIndex": to.repository_index,
        "RepositoryModelLoad": to.load,
        "RepositoryModelUnload": to.unload,
    }
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            _reported(functions[name]), request.FromString, response.SerializeToString
        )
        for name, (request, response) in methods().items()
        if name in functions
    }
    infer = cast("Method", to.infer)  # On bytes: it parses them itself.
    handlers["ModelInfer"] = grpc.unary_unary_rpc_method_handler(_reported(infer))
    return handlers


def make_server(service: Service, *, is_shared: bool = False) -> grpc.aio.Server:
    """The service over gRPC; it has no port yet. To be called within the loop it runs on.

    `is_shared` lets other processes listen on the same port.
    """
    options = (
        ("grpc.max_receive_message_length", service.limits.body_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", int(is_shared)),
    )
    server = grpc.aio.server(options=options)
    handlers = _handlers(Methods(service))
    handler = grpc.method_handlers_generic_handler(SERVICE, handlers)
    server.add_generic_rpc_handlers((handler,))
    return server
