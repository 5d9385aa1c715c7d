"""What a model that compiles at its calls is compiled from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    import onnx

    OnnxModel = str | os.PathLike[str] | bytes | onnx.ModelProto


class ModelSource:
    """A model's file, which must stay as it is, or its bytes."""

    def __init__(self, model: OnnxModel) -> None:
        if isinstance(model, str | os.PathLike):
            model = os.path.abspath(model)  # Whatever folder a later call is in.
        elif not isinstance(model, bytes):
            model = _copy(model)
        self.model: OnnxModel = model
        self._stamp = self._current_stamp()

    def check(self) -> None:
        """Raise GlowError where the model's file is another one than at first."""
        if self._current_stamp() != self._stamp:
            raise GlowError(
                f"'{self.model}' has changed since it was compiled, and this call needs a "
                "program for other sizes",
                hint="compile it again",
            )

    def _current_stamp(self) -> tuple[int, int] | None:
        if not isinstance(self.model, str | os.PathLike):
            return None
        try:
            status = os.stat(self.model)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns


def _copy(model: onnx.ModelProto) -> onnx.ModelProto | bytes:
    """The bytes of a model that its owner may change, where they can be made."""
    try:
        return model.SerializeToString()
    except ValueError:  # More than 2 GB.
        return model
