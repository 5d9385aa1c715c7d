"""Reads an ONNX model and says in one line what is wrong with the file."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from onnx import ModelProto

from glow.dialects.errors import GlowError

OLDEST_OPSET = 7


def load_model(
    model: str | os.PathLike[str] | bytes | ModelProto,
) -> tuple[ModelProto, Path | None]:
    """The model, and the folder of its external data where that is known."""
    if isinstance(model, ModelProto):
        return model, None
    if isinstance(model, bytes):
        return _parse(model, "the model"), None
    path = Path(model)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise GlowError(f"the model file '{path}' does not exist") from None
    except OSError as error:
        raise GlowError(f"cannot read '{path}': {error.strerror}") from None
    return _parse(data, str(path)), path.parent


def _parse(data: bytes, name: str) -> ModelProto:
    from google.protobuf.message import DecodeError

    try:
        model = ModelProto.FromString(data)
    except (DecodeError, RuntimeError) as error:
        reason = f"{len(data)} bytes that do not parse ({error})"
        raise GlowError(f"{name} is not a valid ONNX file: {reason}") from None
    if not model.HasField("graph") or not model.graph.output:
        raise GlowError(f"{name} is not a valid ONNX file: it has no graph")
    return model


def opset_versions(model: ModelProto) -> dict[str, int]:
    """The opset version of each domain; the default domain's must be one we know."""
    versions = {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in model.opset_import
    }
    newest = onnx.defs.onnx_opset_version()
    version = versions.setdefault("", newest if versions else 1)
    if version < OLDEST_OPSET:
        changed = _changed_operators(model, version)
        if changed:
            raise GlowError(
                f"the model has ONNX opset {version}, where {', '.join(changed)} differ "
                f"from opset {OLDEST_OPSET}, the oldest that is supported",
                hint="convert it with onnx.version_converter",
            )
    if version > newest:
        raise GlowError(
            f"the model has ONNX opset {version}, but the installed onnx package knows "
            f"only those up to {newest}",
            hint="upgrade onnx",
        )
    return versions


def _changed_operators(model: ModelProto, version: int) -> list[str]:
    """The model's operators whose definition changed between `version` and ours."""
    operators = {node.op_type for node in model.graph.node if not node.domain}

    def since(operator: str, opset: int) -> int:
        try:
            return onnx.defs.get_schema(operator, opset, "").since_version
        except onnx.defs.SchemaError:
            return 0

    return sorted(
        operator
        for operator in operators
        if since(operator, version) != since(operator, OLDEST_OPSET)
    )
