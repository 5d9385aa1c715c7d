"""The files of weights beside a model, and the hashes of their content."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from glow.dialects.errors import GlowError
from glow.frontends.onnx.loader import LoadedModel
from glow.frontends.onnx.messages import AttributeProto, GraphProto, TensorProto
from glow.runtime.file_blocks import file_digest


def external_digests(loaded: LoadedModel) -> dict[str, str]:
    """The hash of each file by its name in the model, without those that are missing.

    Which files are missing or may not be read is said where their tensors are.
    """
    digests: dict[str, str] = {}
    for name in sorted(set(_locations(loaded.proto.graph))):
        with contextlib.suppress(GlowError, OSError):
            path = loaded.folders.find(name) if loaded.folders else None
            if path is not None and path.is_file():
                digests[name] = file_digest(path)
    return digests


def _locations(graph: GraphProto) -> Iterator[str]:
    """The names of files in a graph and in the graphs inside it."""
    for tensor in graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            for entry in tensor.external_data:
                if entry.key == "location":
                    yield entry.value
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _locations(attribute.g)
