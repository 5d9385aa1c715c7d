"""The messages of ONNX files, without the rest of the `onnx` package.

That package brings checkers, converters and tables of operators: four megabytes, and half
of the time that reading a small file takes. The classes of the messages are one generated
file of it, which needs nothing else. Protocol Buffers has one class for a message whoever
asks for it, so a model that a caller made with `onnx` is a `ModelProto` of this module.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = [
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "OperatorSetIdProto",
    "TensorProto",
    "TypeProto",
    "ValueInfoProto",
]

GENERATED = "onnx_ml_pb2"


def load() -> ModuleType:
    """The module of the messages: on its own, unless `onnx` is loaded or has none."""
    package = None if "onnx" in sys.modules else find_spec("onnx")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder, f"{GENERATED}.py")
        spec = spec_from_file_location(f"{__name__}.{GENERATED}", file)
        if file.is_file() and spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    import onnx

    return onnx


if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        TensorProto,
        TypeProto,
        ValueInfoProto,
    )
else:
    _module = load()
    globals().update({name: getattr(_module, name) for name in __all__})
