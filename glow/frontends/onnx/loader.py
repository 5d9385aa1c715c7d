"""Reads an ONNX model and says in one line what is wrong with the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from glow.dialects.errors import GlowError
from glow.frontends.mapped_file import file_bytes
from glow.frontends.model_folders import ModelFolders
from glow.frontends.onnx.messages import GraphProto, ModelProto, OperatorSetIdProto
from glow.frontends.onnx.node_order import in_order
from glow.frontends.onnx.old_forms import FORMS, OLDEST_OPSET
from glow.frontends.onnx.wire_format import split_weights

KNOWN_OPSET = 24
"""What every `onnx` package knows that we take."""


@dataclass
class LoadedModel:
    """A model with what lies outside of its message."""

    proto: ModelProto
    folders: ModelFolders | None = None
    """Where its external data is, if that is known."""
    weights: Mapping[str, memoryview] = field(default_factory=dict[str, memoryview])
    """The bytes of weights that were cut out of the message, by name."""
    rows_read: Mapping[str, int] | None = None
    """How many boxes of each selection are read (`rows_read.py`), once that was wanted."""


def load_model(
    model: str | os.PathLike[str] | bytes | ModelProto | LoadedModel,
) -> LoadedModel:
    """The model; GlowError where the file is missing or damaged."""
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, ModelProto):
        return LoadedModel(in_order(model))
    if isinstance(model, bytes):
        return _parse(memoryview(model), "the model", None)
    if not isinstance(cast(object, model), str | os.PathLike):
        raise GlowError(
            "a model is the path of a file, its bytes, ONNX's ModelProto or a module, not "
            f"{type(model).__name__}"
        )
    path = Path(model)
    if "\0" in str(path):
        raise GlowError(f"no file is named {str(path)!r}: there is a null in it")
    try:
        data = file_bytes(path)
    except FileNotFoundError:
        raise GlowError(f"the model file '{path}' does not exist") from None
    except OSError as error:
        raise GlowError(f"cannot read '{path}': {error.strerror}") from None
    return _parse(data, str(path), ModelFolders.of(path))


LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def _parse(data: memoryview, name: str, folders: ModelFolders | None) -> LoadedModel:
    from google.protobuf.message import DecodeError

    try:
        message, weights = split_weights(data)
        model = ModelProto.FromString(message)
    except (DecodeError, IndexError, RuntimeError, ValueError) as error:
        reason = f"{len(data)} bytes that do not parse ({error})"
        if "MaxDepth" in str(error):
            reason = "its graphs are too deep inside each other"
        if bytes(data[: len(LFS_POINTER)]) == LFS_POINTER:
            reason = "a pointer of Git LFS stands for it; git lfs pull fetches it"
        raise GlowError(f"{name} is not a valid ONNX file: {reason}") from None
    if not model.HasField("graph") or not model.graph.output:
        raise GlowError(f"{name} is not a valid ONNX file: it has no graph")
    _check_names(model.graph, name)
    return LoadedModel(in_order(model), folders, weights)


def _check_names(graph: GraphProto, file: str) -> None:
    """Names are text: the parser hands out bytes for what is not UTF-8."""
    values = (*graph.input, *graph.output, *graph.initializer)
    names: list[str | bytes] = [value.name for value in values]
    for node in graph.node:
        names += (node.name, node.op_type, node.domain, *node.input, *node.output)
    if wrong := next((name for name in names if isinstance(name, bytes)), None):
        raise GlowError(f"{file} is not a valid ONNX file: the name {wrong} is no text")


def opset_imports(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """The opset version of each domain; the default domain is ''."""
    return {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in entries
    }


def opset_versions(model: ModelProto) -> dict[str, int]:
    """The opset version of each domain; the default domain's must be one we know."""
    versions = opset_imports(model.opset_import)
    if "" not in versions:
        versions[""] = _newest_opset() if versions else 1
    version = versions[""]
    if version < OLDEST_OPSET:
        changed = _changed_operators(model, version)
        if changed:
            raise GlowError(
                f"the model has ONNX opset {version}, where {', '.join(changed)} differ "
                f"from opset {OLDEST_OPSET}, the oldest that is supported",
                hint="convert it with onnx.version_converter",
            )
    if version > KNOWN_OPSET and version > (newest := _newest_opset()):
        raise GlowError(
            f"the model has ONNX opset {version}, but the installed onnx package knows "
            f"only those up to {newest}",
            hint="upgrade onnx",
        )
    return versions


def _newest_opset() -> int:
    """The newest opset that the installed `onnx` package knows."""
    from onnx import defs

    return defs.onnx_opset_version()


def _changed_operators(model: ModelProto, version: int) -> list[str]:
    """The model's operators whose definition changed between `version` and ours."""
    from onnx import defs

    operators = {node.op_type for node in model.graph.node if not node.domain}

    def since(operator: str, opset: int) -> int:
        try:
            return defs.get_schema(operator, opset, "").since_version
        except defs.SchemaError:
            return 0

    return sorted(
        operator
        for operator in operators
        if not (version > 0 and operator in FORMS)
        and since(operator, version) != since(operator, OLDEST_OPSET)
    )
