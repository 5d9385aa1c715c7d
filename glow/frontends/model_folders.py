"""Where the files of weights beside a model may lie.

Model files come from strangers, so their weights must lie in the model's folder. That
folder may hold links, as the cache of the Hugging Face hub does:

    snapshots/<revision>/model.onnx       -> ../../blobs/<hash>
    snapshots/<revision>/model.onnx_data  -> ../../blobs/<another hash>

A link may lead inside the folder, or to where the model itself leads to. ONNX Runtime has
the same rule.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from glow.dialects.errors import GlowError


@dataclass(frozen=True)
class ModelFolders:
    """The folder of a model's path, and that of the file that the path leads to."""

    named: Path
    real: Path

    @classmethod
    def of(cls, path: Path) -> ModelFolders:
        """The folders of a model's file."""
        return cls(path.parent, Path(os.path.realpath(path)).parent)

    def find(self, location: str) -> Path:
        """The file at a place that the model names; GlowError where it is outside."""
        inside = os.path.normpath(location)
        outside = GlowError(
            f"its weight file '{location}' is outside of the model's folder"
        )
        if not location or os.path.isabs(inside) or inside.startswith(".."):
            raise outside
        try:
            path = Path(os.path.realpath(self.named / location))
        except ValueError as error:
            raise GlowError(f"its weight file {location!r}: {error}") from None
        allowed = (Path(os.path.realpath(self.named)), self.real)
        if not any(path.is_relative_to(folder) for folder in allowed):
            raise outside
        return path
