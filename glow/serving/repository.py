"""Models by name and version on a host.

A version that is loaded again is compiled and placed beside the one that serves, takes its
place, and the old one goes when its last request has its result: no request is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from glow.compiled_model import Array
from glow.dialects.errors import GlowError
from glow.open_sizes import OpenTensorInfo
from glow.serving.datatypes import name_of
from glow.serving.folders import ModelFiles, models_in
from glow.serving.requests import (
    BAD_REQUEST,
    NOT_FOUND,
    UNAVAILABLE,
    InferenceRequest,
    InferenceResponse,
    ServingError,
)
from glow.tensor_info import TensorInfo

if TYPE_CHECKING:
    from glow.host.adding import AddKeywords
    from glow.host.host import Host

AnyTensorInfo = TensorInfo | OpenTensorInfo

READY, LOADING, UNREADY = "READY", "LOADING", "UNAVAILABLE"


@dataclass(frozen=True)
class ModelMetadata:
    """What clients may know of a model."""

    name: str
    versions: Sequence[str]
    inputs: Sequence[AnyTensorInfo]
    outputs: Sequence[AnyTensorInfo]


@dataclass(frozen=True)
class IndexEntry:
    """A model of the index."""

    name: str
    version: str
    state: str
    reason: str = ""


class ServedModels(Protocol):
    """What the protocols need: a repository, or something else behind the same service."""

    def is_ready(self) -> bool:
        """Whether requests are taken."""
        ...

    def is_model_ready(self, name: str, version: str = "") -> bool:
        """Whether requests for a model are taken; ServingError for one that is unknown."""
        ...

    def metadata(self, name: str, version: str = "") -> ModelMetadata:
        """What a model takes and gives."""
        ...

    async def infer(self, request: InferenceRequest) -> InferenceResponse:
        """The outputs; raises ServingError or an error of the host."""
        ...

    def index(self) -> Sequence[IndexEntry]:
        """All models, those that are not loaded among them."""
        ...

    async def load(self, name: str) -> None:
        """Load a model, or load it again."""
        ...

    async def unload(self, name: str) -> None:
        """Let go of a model."""
        ...


@dataclass
class Version:
    """A version of a model that is loaded."""

    key: str
    """Its name on the host."""
    inputs: Mapping[str, AnyTensorInfo]
    outputs: Mapping[str, AnyTensorInfo]
    running: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set where nothing runs on a version that goes."""


class Repository:
    """Models from files, on a host."""

    def __init__(
        self, host: Host, files: Mapping[str, ModelFiles], options: AddKeywords
    ) -> None:
        """`options` are those of `Host.add`."""
        self.host = host
        self.files = dict(files)
        self.options = options
        self.folder: Path | None = None
        """Where further models, and versions, may appear."""
        self.is_draining = False
        self._loaded: dict[str, dict[str, Version]] = {}
        self._generation = 0
        self._lock = Lock()

    def is_ready(self) -> bool:
        """Whether requests are taken."""
        return not self.is_draining

    def is_model_ready(self, name: str, version: str = "") -> bool:
        """Whether requests for a model are taken."""
        self._known(name)
        versions = self._loaded.get(name, {})
        return bool(versions) and (not version or version in versions)

    def metadata(self, name: str, version: str = "") -> ModelMetadata:
        """What a model takes and gives."""
        _, found = self._find(name, version)
        versions = sorted(self._loaded[name], key=_order)
        inputs, outputs = found.inputs.values(), found.outputs.values()
        return ModelMetadata(name, versions, list(inputs), list(outputs))

    def index(self) -> Sequence[IndexEntry]:
        """All models that there are files of."""
        self._look_for_files()
        return list(self._entries())

    def _entries(self) -> Iterator[IndexEntry]:
        for name, files in sorted(self.files.items()):
            loaded = self._loaded.get(name, {})
            for version in sorted({*files.versions, *loaded}, key=_order):
                state = READY if version in loaded else UNREADY
                reason = "" if version in loaded else files.reasons.get(version, "")
                yield IndexEntry(name, version, state, reason)

    async def infer(self, request: InferenceRequest) -> InferenceResponse:
        """The outputs that a request asks for."""
        if self.is_draining:
            raise ServingError(UNAVAILABLE, "the server is shutting down", 1)
        with (
            self._lock
        ):  # From here on a version that is replaced waits for its requests.
            number, version = self._find(request.model, request.version)
            version.running += 1
        try:
            inputs = checked(request, version)
            for name in request.outputs:
                if name not in version.outputs:
                    raise ServingError(
                        BAD_REQUEST, _unknown("output", name, version.outputs)
                    )
            results = await self.host.run_async(
                version.key,
                inputs,
                priority=request.priority,
                timeout=request.timeout,
                request_id=request.id or None,
                span=request.span,
            )
        finally:
            version.running -= 1
            if not version.running:
                version.idle.set()
        wanted = request.outputs or list(results)
        outputs = {name: results[name] for name in wanted}
        return InferenceResponse(request.model, number, request.id, outputs)

    async def load(self, name: str) -> None:
        """Load all versions of a model, those that are loaded already anew."""
        self._look_for_files()
        files = self._known(name)
        self.attach(asyncio.get_running_loop())
        await asyncio.to_thread(self.load_now, name)
        old = [v for v in self._loaded.get(name, {}) if v not in files.versions]
        for version in old:
            await self._let_go(self._loaded[name].pop(version))

    def load_now(self, name: str) -> None:
        """Load the versions of a model; raises the first error when all were tried."""
        files, errors = self._known(name), list[GlowError]()
        for version, path in sorted(files.versions.items(), key=lambda v: _order(v[0])):
            try:
                self._load_version(name, version, path)
                files.reasons.pop(version, None)
            except GlowError as error:
                files.reasons[version] = str(error)
                errors.append(error)
        if errors:
            raise errors[0]

    def _load_version(self, name: str, version: str, path: Path) -> None:
        with self._lock:
            self._generation += 1
            key = f"{name}/{version}#{self._generation}"
        self.host.add(key, str(path), **self.options)
        info = self.host.models()[key]
        new = Version(
            key, {i.name: i for i in info.inputs}, {o.name: o for o in info.outputs}
        )
        with self._lock:
            versions = self._loaded.setdefault(name, {})
            old, versions[version] = versions.get(version), new
        if old is not None:
            self._later(old)

    def _later(self, version: Version) -> None:
        """Let a version go when nothing runs on it, wherever there is a loop."""
        loop = self._loop
        with self._lock:
            is_idle = not version.running
        if loop is None or is_idle:
            self.host.remove(version.key)
        else:
            asyncio.run_coroutine_threadsafe(self._let_go(version), loop)

    _loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell which loop requests are on."""
        self._loop = loop

    async def unload(self, name: str) -> None:
        """Let go of a model when its requests have their results."""
        self._known(name)
        versions = self._loaded.pop(name, {})
        for version in versions.values():
            await self._let_go(version)

    async def _let_go(self, version: Version) -> None:
        while version.running:
            version.idle.clear()
            await version.idle.wait()
        await asyncio.to_thread(self.host.remove, version.key)

    async def drain(self, seconds: float) -> bool:
        """Take no more requests; whether those that run have ended in time."""
        self.is_draining = True
        running = [v for versions in self._loaded.values() for v in versions.values()]
        try:
            async with asyncio.timeout(seconds):
                for version in running:
                    while version.running:
                        version.idle.clear()
                        await version.idle.wait()
        except TimeoutError:
            return False
        return True

    def _known(self, name: str) -> ModelFiles:
        if name not in self.files:
            raise ServingError(NOT_FOUND, _unknown("model", name, self.files))
        return self.files[name]

    def _find(self, name: str, version: str) -> tuple[str, Version]:
        self._known(name)
        versions = self._loaded.get(name)
        if not versions:
            raise ServingError(NOT_FOUND, f"the model {name!r:.80} is not loaded")
        number = version or max(versions, key=_order)
        if number not in versions:
            known = ", ".join(sorted(versions, key=_order))
            raise ServingError(
                NOT_FOUND,
                f"the model {name!r:.80} has no version {version!r:.40}; there are {known}",
            )
        return number, versions[number]

    def _look_for_files(self) -> None:
        """Find models and versions that have appeared, or gone, since the last look."""
        if self.folder is None:
            return
        for name, files in models_in(self.folder).items():
            known = self.files.setdefault(name, files)
            known.versions = files.versions


def _order(version: str) -> tuple[int, str]:
    """Versions are numbers; others come before them."""
    return (int(version) if version.isdecimal() else -1, version)


def _unknown(kind: str, name: str, known: Mapping[str, object]) -> str:
    there = ", ".join(list(known)[:20])
    return f"unknown {kind} {name!r:.80}; there are {there or 'none'}"


def checked(request: InferenceRequest, version: Version) -> dict[str, Array]:
    """The inputs of a request; raises ServingError for those that do not fit."""
    inputs = request.inputs
    for name, array in inputs.items():
        info = version.inputs.get(name)
        if info is None:
            raise ServingError(BAD_REQUEST, _unknown("input", name, version.inputs))
        check_input(info, array)
    for name in version.inputs:
        if name not in inputs:
            raise ServingError(BAD_REQUEST, f"missing input {name!r:.80}")
    return dict(inputs)


def check_input(info: AnyTensorInfo, array: Array) -> None:
    """Raise ServingError for another datatype, or another shape where that is known."""
    if array.dtype != info.dtype:
        raise ServingError(
            BAD_REQUEST,
            f"input {info.name!r:.80} has datatype {name_of(info.dtype)}, not "
            f"{name_of(array.dtype)}",
        )
    shape = info.shape
    if shape is None or array.shape == shape:
        return
    fits = len(shape) == array.ndim and all(
        isinstance(size, str) or size == found
        for size, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ServingError(
            BAD_REQUEST,
            f"input {info.name!r:.80} has shape {list(sizes_of(info))}, not "
            f"{list(array.shape)}",
        )


def sizes_of(info: AnyTensorInfo) -> Sequence[int]:
    """A shape as the protocol tells it: -1 for sizes that are open."""
    return [-1 if isinstance(size, str) else size for size in info.shape or ()]
