"""The Open Inference Protocol v2 over HTTP.

The paths are those of the specification, with its binary tensors and its extension for
repositories. What is behind them is asked by `ServedModels`: a repository of ours, or anything
else that should be compared behind the same service.

Requests for inference are read and answered on the bytes themselves; the rest is JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from glow.host.trace_events import parse_traceparent
from glow.serving.datatypes import name_of
from glow.serving.json_codec import (
    DecodedRequest,
    decode_request,
    encode_response,
    refuse,
)
from glow.serving.repository import AnyTensorInfo, sizes_of
from glow.serving.requests import (
    UNAVAILABLE,
    InferenceRequest,
    ServingError,
    serving_error,
)

if TYPE_CHECKING:
    from glow.serving.repository import ModelMetadata
    from glow.serving.service import Service

LONGEST = 1e9
"""A timeout of so many seconds is none."""
JSON_SIZE = "inference-header-content-length"
EXTENSIONS = ("binary_tensor_data", "model_repository")
OCTETS = "application/octet-stream"
MOST_MICROSECONDS = 1e15
"""Of a timeout: thirty years."""

Endpoint = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """What is asked for at the paths."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.models = service.models

    async def live(self, request: Request) -> Response:
        """Whether the process answers."""
        return _json({"live": True})

    async def ready(self, request: Request) -> Response:
        """Whether requests are taken."""
        is_ready = self.models.is_ready()
        return _json({"ready": is_ready}, 200 if is_ready else UNAVAILABLE)

    async def server(self, request: Request) -> Response:
        """What the server is."""
        return _json(
            {
                "name": "glow",
                "version": version_of("glow-xdsl"),
                "extensions": EXTENSIONS,
            }
        )

    async def model(self, request: Request) -> Response:
        """What a model takes and gives."""
        found = self.models.metadata(*_model_of(request))
        return _json(model_document(found))

    async def model_ready(self, request: Request) -> Response:
        """Whether requests for a model are taken."""
        name, version = _model_of(request)
        is_ready = self.models.is_model_ready(name, version)
        return _json(
            {"name": name, "ready": is_ready}, 200 if is_ready else UNAVAILABLE
        )

    async def index(self, request: Request) -> Response:
        """All models."""
        await self._skip_body(request)
        entries = [
            {"name": e.name, "version": e.version, "state": e.state, "reason": e.reason}
            for e in self.models.index()
        ]
        return _json(entries)

    async def load(self, request: Request) -> Response:
        """Load a model."""
        await self._skip_body(request)
        await self.models.load(_model_of(request)[0])
        return _json({})

    async def unload(self, request: Request) -> Response:
        """Let go of a model."""
        await self._skip_body(request)
        await self.models.unload(_model_of(request)[0])
        return _json({})

    async def figures(self, request: Request) -> Response:
        """The figures for Prometheus."""
        return Response(
            self.service.metrics.text(), media_type="text/plain; version=0.0.4"
        )

    async def infer(self, request: Request) -> Response:
        """The outputs of a request, or its error."""
        start, status = time.perf_counter(), 200
        name, version = _model_of(request)
        label, service = name, self.service
        try:
            body = await service.bodies.read(request)
            try:  # Counted from here, so that slow clients hold up no others.
                service.enter()
                try:
                    return await self._infer(request, body, name, version)
                finally:
                    service.leave()
            finally:
                service.bodies.release(len(body))
        except Exception as error:
            found = serving_error(error)
            status, label = found.status, service.label(name)
            if status == 500:
                raise
            return error_response(found)
        finally:
            seconds = time.perf_counter() - start
            service.count(label, "http", status, seconds)

    async def _skip_body(self, request: Request) -> None:
        bodies = self.service.bodies
        bodies.release(len(await bodies.read(request)))

    async def _infer(
        self, request: Request, body: bytes, name: str, version: str
    ) -> Response:
        headers, tracer = request.headers, self.service.tracer
        decoded = decode_request(body, _json_size(headers.get(JSON_SIZE)))
        if not tracer.is_on:
            return await self._answer(decoded, inference(decoded, name, version))
        parent = parse_traceparent(
            headers.get("traceparent"), headers.get("tracestate", "")
        )
        asked = inference(decoded, name, version)
        with tracer.span("http", f"infer {name}", asked.id, parent) as span:
            asked.span = span.context
            return await self._answer(decoded, asked)

    async def _answer(
        self, decoded: DecodedRequest, asked: InferenceRequest
    ) -> Response:
        parts, size = encode_response(await self.models.infer(asked), decoded)
        if size is None:
            return Response(parts[0], media_type="application/json")
        return Response(
            b"".join(parts), headers={JSON_SIZE: str(size)}, media_type=OCTETS
        )


def inference(decoded: DecodedRequest, name: str, version: str) -> InferenceRequest:
    """The request that a body and its path spell."""
    parameters = decoded.parameters
    priority = parameters.get("priority", 0)
    if type(priority) is not int or not -(1 << 63) <= priority < 1 << 63:
        refuse("the parameter priority is no integer of 64 bits")
    return InferenceRequest(
        name,
        decoded.inputs,
        version,
        decoded.id,
        [one.name for one in decoded.outputs],
        priority,
        timeout_of(parameters),
    )


def timeout_of(parameters: Mapping[str, Any]) -> float | None:
    """The parameter `timeout`, which is in microseconds, in seconds."""
    timeout = parameters.get("timeout")
    if timeout is None or timeout == 0:
        return None
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not 0 <= timeout < MOST_MICROSECONDS:
        refuse("the parameter timeout is no number of microseconds")
    return timeout / 1e6 if timeout < LONGEST * 1e6 else None


def _json_size(header: str | None) -> int | None:
    if header is None:
        return None
    if not header.isdecimal() or len(header) > 15:
        refuse(f"the header Inference-Header-Content-Length is {header!r:.40}")
    return int(header)


def _model_of(request: Request) -> tuple[str, str]:
    parameters = request.path_params
    return parameters["name"], parameters.get("version", "")


def model_document(found: ModelMetadata) -> dict[str, Any]:
    """What the protocol tells of a model."""
    return {
        "name": found.name,
        "versions": list(found.versions),
        "platform": "glow",
        "inputs": list(map(_tensor, found.inputs)),
        "outputs": list(map(_tensor, found.outputs)),
    }


def _tensor(info: AnyTensorInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "datatype": name_of(info.dtype),
        "shape": list(sizes_of(info)),
    }


def _json(document: object, status: int = 200) -> Response:
    return Response(json.dumps(document), status, media_type="application/json")


def error_response(error: ServingError) -> Response:
    """The error as the protocol spells it."""
    response = _json({"error": error.message}, error.status)
    if error.retry_after is not None:
        response.headers["retry-after"] = str(error.retry_after)
    if error.status in (408, 413):  # What comes behind is not read.
        response.headers["connection"] = "close"
    return response


async def on_error(request: Request, error: Exception) -> Response:
    """What a client gets for an error of an endpoint."""
    if isinstance(error, HTTPException):
        return error_response(ServingError(error.status_code, str(error.detail)))
    return error_response(serving_error(error))


def make_app(service: Service) -> FastAPI:
    """The service over HTTP, for any server of ASGI."""
    to = Endpoints(service)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    model = "/v2/models/{name}"
    routes: list[tuple[str, str, Endpoint]] = [
        ("POST", f"{model}/infer", to.infer),
        ("POST", f"{model}/versions/{{version}}/infer", to.infer),
        ("GET", "/v2/health/live", to.live),
        ("GET", "/v2/health/ready", to.ready),
        ("GET", "/v2", to.server),
        ("GET", model, to.model),
        ("GET", f"{model}/versions/{{version}}", to.model),
        ("GET", f"{model}/ready", to.model_ready),
        ("GET", f"{model}/versions/{{version}}/ready", to.model_ready),
        ("POST", "/v2/repository/index", to.index),
        ("POST", "/v2/repository/models/{name}/load", to.load),
        ("POST", "/v2/repository/models/{name}/unload", to.unload),
        ("GET", "/metrics", to.figures),
    ]
    for method, path, endpoint in routes:
        app.add_route(path, endpoint, methods=[method])
    for kind in (Exception, HTTPException):
        app.add_exception_handler(kind, cast(Any, on_error))
    return app
