"""What runs on a node of a Ray cluster: networks, each a view of one blob in the node's store.

The class knows nothing of Ray, which makes an actor of it. Its answers are lists: what became
of the call, then the outputs, or a description of the error.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.host.devices.model_blob import model_in_blob
from glow.host.devices.process_messages import error_as_frame
from glow.model_bytes import reader_digest

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.compiler import Model
    from glow.options import OptionKeywords
    from glow.specialized_model import RunnableModel

DONE, FAILED, UNKNOWN = "done", "failed", "unknown"
"""What becomes of a call; UNKNOWN: the actor has started again, without the network."""

Answer = list[object]


@dataclass(frozen=True)
class ModelOrigin:
    """What is known of a blob beside its bytes."""

    kind: str
    """How it is read."""
    reader: str
    """For which processors and versions it is (`reader_digest`)."""
    backend: str
    source: tuple[Model, OptionKeywords] | None
    """What it was compiled from, and how."""


class DeviceActor:
    """The networks of a node."""

    def __init__(self) -> None:
        self._models: dict[int, RunnableModel] = {}
        self._ends = threading.Event()

    def ready(self) -> int:
        """The number of the process, when it has begun."""
        return os.getpid()

    def watch(self) -> None:
        """Never return: whoever waits for that is told when the process is gone."""
        self._ends.wait()

    def load(
        self,
        number: int,
        content: Array,
        origin: ModelOrigin,
    ) -> Answer:
        """Take a network; tells whether it was compiled here, from its source."""
        if number in self._models:
            return [DONE, False]
        try:
            model, is_compiled = self._model(content, origin)
        except Exception as error:
            return [FAILED, error_as_frame(error)]
        self._models[number] = model
        return [DONE, is_compiled]

    def _model(self, content: Array, origin: ModelOrigin) -> tuple[RunnableModel, bool]:
        if origin.reader == reader_digest(origin.backend):
            return model_in_blob(content, origin.kind), False
        if origin.source is None:
            raise GlowError(
                "the model was compiled by another version or for another processor",
                hint="give the host what it was compiled from",
            )
        from glow.compilation import compile

        return compile(origin.source[0], **origin.source[1]), True

    def unload(self, number: int) -> None:
        """Let go of a network."""
        self._models.pop(number, None)

    def run(
        self, number: int, threads: int | None, loaded: Answer | None, *inputs: Array
    ) -> Answer:
        """The outputs of a network; `loaded` is what its loading said, if that is new."""
        if loaded is not None and loaded[0] == FAILED:
            return loaded
        model = self._models.get(number)
        if model is None:
            return [UNKNOWN]
        try:
            return [DONE, *model.run_in_order(inputs, threads)]
        except Exception as error:
            return [FAILED, error_as_frame(error)]
