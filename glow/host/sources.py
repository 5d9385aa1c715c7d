"""What models of a host were compiled from, for nodes that must compile them themselves."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, cast

from glow.frontends.kinds import TEXT, kind_of

if TYPE_CHECKING:
    from glow.compiler import Model
    from glow.options import OptionKeywords
    from glow.specialized_model import RunnableModel

_sources: weakref.WeakKeyDictionary[RunnableModel, tuple[Model, OptionKeywords]] = (
    weakref.WeakKeyDictionary()
)


def note_source(model: RunnableModel, source: Model, options: OptionKeywords) -> None:
    """Note what a model was compiled from, if that is a file or its bytes."""
    if isinstance(source, bytes | str | os.PathLike):
        _sources[model] = source, options


def source_of(model: RunnableModel) -> tuple[Model, OptionKeywords] | None:
    """What a model was compiled from, an ONNX file as its bytes, and with which options."""
    found = _sources.get(model)
    if found is None or isinstance(found[0], bytes):
        return found
    path = Path(os.fspath(cast(str, found[0])))
    if kind_of(path) != TEXT:
        return path.read_bytes(), found[1]
    return path.resolve(), found[1]
