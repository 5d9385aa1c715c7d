"""What ONNX Runtime computes: the tests' second opinion on whole networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import ModelProto

Array = npt.NDArray[Any]


def onnxruntime_outputs(
    model: ModelProto, inputs: dict[str, Array]
) -> dict[str, Array]:
    """The outputs by name."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, inputs)
    return dict(zip(names, map(np.asarray, results), strict=True))
