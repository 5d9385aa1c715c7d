"""The test cases that the installed `onnx` package carries; nothing is downloaded.

A suite is one of ONNX's kinds of tests: `node` (one operator each, made by functions),
`simple`, `pytorch-converted` and `pytorch-operator` (models and data in files), and `light`
(nine image classifiers with drawn weights, on one image of a ramp).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, TypeProto
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import DATA_DIR, load_model_tests
from onnx.numpy_helper import to_array, to_list, to_optional

from glow.dialects.weight_table import Array

CaseValue = Any
"""An array, a list of them (a sequence), or None (an optional without a value)."""

DataSet = tuple[Sequence[CaseValue], Sequence[CaseValue]]
"""The inputs and the expected outputs of a call."""


@dataclass(frozen=True)
class Case:
    """A test: a model, and the results of calls within tolerances."""

    suite: str
    name: str
    rtol: float
    atol: float
    load: Callable[[], tuple[ModelProto, list[DataSet]]]

    @property
    def key(self) -> str:
        """The name that no other case of any suite has."""
        return f"{self.suite}/{self.name}"


def node_cases() -> Iterator[Case]:
    """A case for each of ONNX's tests of single operators."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow in the functions that make the data
        tests = collect_testcases(None)
    for test in tests:

        def load(test: Any = test) -> tuple[ModelProto, list[DataSet]]:
            """The model and data, which exist already."""
            return test.model, [
                ([plain(value) for value in given], [plain(value) for value in wanted])
                for given, wanted in test.data_sets
            ]

        yield Case("node", test.name, test.rtol, test.atol, load)


def file_cases(suite: str) -> Iterator[Case]:
    """The cases of a suite that lies in files."""
    for test in sorted(load_model_tests(kind=suite), key=lambda test: test.name):
        folder = Path(test.model_dir or "")

        def load(folder: Path = folder) -> tuple[ModelProto, list[DataSet]]:
            """The model and data from their files."""
            model = load_file(folder / "model.onnx")
            sets = sorted(folder.glob("test_data_set_*"))
            return model, [read_data_set(data, model) for data in sets]

        yield Case(suite, test.name, test.rtol, test.atol, load)


def light_cases() -> Iterator[Case]:
    """The nine image classifiers, with the one result that is kept for each."""
    for path in sorted(Path(DATA_DIR, "light").glob("*.onnx")):

        def load(path: Path = path) -> tuple[ModelProto, list[DataSet]]:
            """The model, ONNX's ramp as its image, and the kept result."""
            model = load_file(path)
            weights = {tensor.name for tensor in model.graph.initializer}
            (image,) = (i for i in model.graph.input if i.name not in weights)
            shape = [max(d.dim_value, 1) for d in image.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            ramp = (np.arange(size).reshape(shape) / size).astype(np.float32)
            kept = path.with_name(f"{path.stem}_output_0.pb")
            result = to_array(TensorProto.FromString(kept.read_bytes()))
            return model, [([ramp], [result])]

        # The tolerances of ONNX's tests of real models, which run these files.
        yield Case("light", path.stem, 1e-3, 1e-7, load)


SUITES: dict[str, Callable[[], Iterator[Case]]] = {
    "node": node_cases,
    "simple": lambda: file_cases("simple"),
    "pytorch-converted": lambda: file_cases("pytorch-converted"),
    "pytorch-operator": lambda: file_cases("pytorch-operator"),
    "light": light_cases,
}
"""What makes the cases of a suite, by its name."""


def load_file(path: Path) -> ModelProto:
    """A model from its file."""
    return ModelProto.FromString(path.read_bytes())


def plain(value: object) -> CaseValue:
    """A case's value as arrays: tensors, sequences and optionals may be messages."""
    if isinstance(value, TensorProto):
        return to_array(value)
    if isinstance(value, SequenceProto):
        return to_list(value)
    if isinstance(value, OptionalProto):
        return to_optional(value)
    if isinstance(value, list):
        return [plain(item) for item in cast(list[object], value)]
    return value if value is None else np.asarray(value)


def read_data_set(folder: Path, model: ModelProto) -> DataSet:
    """The inputs and expected outputs of a call from a folder of messages."""
    return (
        [read_value(folder / f"input_{i}.pb", v.type) for i, v in inputs_of(model)],
        [
            read_value(folder / f"output_{i}.pb", v.type)
            for i, v in enumerate(model.graph.output)
        ],
    )


def inputs_of(model: ModelProto) -> Iterator[tuple[int, onnx.ValueInfoProto]]:
    """The numbered inputs that a caller gives."""
    weights = {tensor.name for tensor in model.graph.initializer}
    given = (value for value in model.graph.input if value.name not in weights)
    return enumerate(given)


def read_value(path: Path, kind: TypeProto) -> Array | list[Array] | None:
    """A value from a file."""
    message = (
        SequenceProto
        if kind.HasField("sequence_type")
        else OptionalProto
        if kind.HasField("optional_type")
        else TensorProto
    )
    return plain(message.FromString(path.read_bytes()))
