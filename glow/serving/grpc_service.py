"""The Open Inference Protocol v2 over gRPC, on the models that HTTP serves too.

Each request for inference has a thread of its own, which computes it where a core is free: to
go through an event loop and back takes longer than small networks do. All else runs on the loop
of the HTTP service. The client's deadline is the request's, and a client that goes away cancels
it, which frees its slot.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import grpc
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

Method: TypeAlias = Callable[[Message], Coroutine[object, object, Message]]

SPARE_THREADS = 8
"""For what is no request for inference, and to refuse requests of which there are too many."""


class Methods:
    """The methods of the protocol, over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.models = service.models

    async def server_live(self, request: Message) -> Message:
        """Whether the process answers."""
        return message_class("ServerLiveResponse")(live=True)

    async def server_ready(self, request: Message) -> Message:
        """Whether requests are taken."""
        return message_class("ServerReadyResponse")(ready=self.models.is_ready())

    async def model_ready(self, request: Message) -> Message:
        """Whether requests for a model are taken."""
        asked = cast("ModelVersion", request)
        is_ready = self.models.is_model_ready(asked.name, asked.version)
        return message_class("ModelReadyResponse")(ready=is_ready)

    async def server_metadata(self, request: Message) -> Message:
        """What the server is."""
        return message_class("ServerMetadataResponse")(
            name="glow", version=version_of("glow-xdsl"), extensions=EXTENSIONS
        )

    async def model_metadata(self, request: Message) -> Message:
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

    async def repository_index(self, request: Message) -> Message:
        """All models."""
        only_ready = cast("IndexRequest", request).ready
        models = [
            {"name": e.name, "version": e.version, "state": e.state, "reason": e.reason}
            for e in self.models.index()
            if e.state == READY or not only_ready
        ]
        return message_class("RepositoryIndexResponse")(models=models)

    async def load(self, request: Message) -> Message:
        """Load a model."""
        await self.models.load(_model_of(request))
        return message_class("RepositoryModelLoadResponse")()

    async def unload(self, request: Message) -> Message:
        """Let go of a model."""
        await self.models.unload(_model_of(request))
        return message_class("RepositoryModelUnloadResponse")()

    def infer(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        """The outputs of a request, or its error; in a thread of its own."""
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
                    answer = self._infer(asked, context)
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
            service.metrics.count(model or UNKNOWN, "grpc", status, seconds)

    def _infer(
        self, asked: InferenceRequest, context: grpc.ServicerContext
    ) -> InferenceResponse:
        def watch(abandon: Callable[[], None]) -> None:
            if not context.add_callback(abandon):  # The client is gone already.
                abandon()

        tracer = self.service.tracer
        if not tracer.is_on:
            return self.models.infer_here(asked, watch)
        headers = dict(context.invocation_metadata() or ())
        parent = parse_traceparent(
            _text(headers.get("traceparent")), _text(headers.get("tracestate"))
        )
        name = f"infer {asked.model}"
        with tracer.span("grpc", name, asked.id, parent) as span:
            asked.span = span.context
            return self.models.infer_here(asked, watch)


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


Request = TypeVar("Request")
Response = TypeVar("Response")
Behavior: TypeAlias = Callable[[Request, grpc.ServicerContext], Response]


def _reported(behavior: Behavior[Request, Response]) -> Behavior[Request, Response]:
    """The behavior, whose errors end the call with their status and one line."""

    def call(request: Request, context: grpc.ServicerContext) -> Response:
        try:
            return behavior(request, context)
        except Exception as error:
            found = serving_error(error)
            code = GRPC_CODES.get(found.status, GRPC_CODES[FAILED])
            context.abort(getattr(grpc.StatusCode, code), found.message)
            raise  # `abort` does not return.

    return call


def _on(loop: asyncio.AbstractEventLoop, method: Method) -> Behavior[Message, Message]:
    """The method, on a loop that runs in another thread."""

    def call(request: Message, context: grpc.ServicerContext) -> Message:
        return asyncio.run_coroutine_threadsafe(method(request), loop).result()

    return call


def _handlers(
    to: Methods, loop: asyncio.AbstractEventLoop
) -> dict[str, grpc.RpcMethodHandler[Message, Message]]:
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
            _reported(_on(loop, functions[name])),
            request.FromString,
            response.SerializeToString,
        )
        for name, (request, response) in methods().items()
        if name in functions
    }
    infer = cast("Behavior[Message, Message]", to.infer)  # It parses bytes itself.
    handlers["ModelInfer"] = grpc.unary_unary_rpc_method_handler(_reported(infer))
    return handlers


class GrpcServer:
    """A server of gRPC."""

    def __init__(self, server: grpc.Server) -> None:
        self._server = server

    def add_port(self, address: str) -> int:
        """Listen on an address; the number of the port, 0 where it cannot be had."""
        try:
            return self._server.add_insecure_port(address)
        except RuntimeError:
            return 0

    def start(self) -> None:
        """Take requests."""
        self._server.start()

    async def stop(self, seconds: float | None) -> None:
        """Take no more requests, and cancel after so many seconds those that run."""
        await asyncio.to_thread(self._server.stop(seconds).wait)


def make_server(service: Service, *, is_shared: bool = False) -> GrpcServer:
    """The service over gRPC; it has no port yet. To be called within the loop of HTTP.

    `is_shared` lets other processes listen on the same port.
    """
    options = (
        ("grpc.max_receive_message_length", service.limits.body_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", int(is_shared)),
    )
    count = service.limits.requests + SPARE_THREADS
    threads = ThreadPoolExecutor(count, thread_name_prefix="glow-grpc")
    server = grpc.server(threads, options=options)
    handlers = _handlers(Methods(service), asyncio.get_running_loop())
    handler = grpc.method_handlers_generic_handler(SERVICE, handlers)
    server.add_generic_rpc_handlers((handler,))
    return GrpcServer(server)
