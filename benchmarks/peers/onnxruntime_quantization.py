"""ONNX Runtime's own quantization of a network, in every setting worth comparing with."""

import logging
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.networks.inputs import Array

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class Setting:
    """A way to quantize statically."""

    name: str
    activations: QuantType = QuantType.QUInt8
    per_channel: bool = True
    calibration: CalibrationMethod = CalibrationMethod.MinMax
    options: Mapping[str, Any] = field(default_factory=dict)


STATIC = (
    Setting("u8s8 per channel"),
    Setting("u8s8 per tensor", per_channel=False),
    Setting("s8s8 per channel", QuantType.QInt8),
    Setting(
        "u8s8 per channel, percentile 99.99",
        calibration=CalibrationMethod.Percentile,
        options={"CalibPercentile": 99.99},
    ),
    Setting(
        "u8s8 per channel, percentile 99.9",
        calibration=CalibrationMethod.Percentile,
        options={"CalibPercentile": 99.9},
    ),
    Setting("u8s8 per channel, entropy", calibration=CalibrationMethod.Entropy),
)
"""Settings for networks whose inputs have one shape."""


class Batches(CalibrationDataReader):
    """Calibration data in ONNX Runtime's form."""

    def __init__(self, batches: Iterable[Inputs]) -> None:
        self._batches = iter(batches)

    def get_next(self) -> dict[str, Array] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The next batch."""
        batch = next(self._batches, None)
        return None if batch is None else dict(batch)


@contextmanager
def silence() -> Generator[None]:
    """Keep calibration from telling how it goes on stdout and in the log."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        logging.disable(level)


def prepared(model: onnx.ModelProto) -> onnx.ModelProto:
    """The network with batch normalizations folded, as ONNX Runtime recommends."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.onnx", Path(folder) / "target.onnx"
        onnx.save(model, source)
        with silence():
            quant_pre_process(source, target, skip_symbolic_shape=True)
        return onnx.load(target)


def quantized_statically(
    model: onnx.ModelProto,
    batches: Iterable[Inputs],
    setting: Setting,
    *,
    float_results: Sequence[str] = (),
    kinds: Sequence[str] | None = None,
) -> bytes:
    """The network with QDQ pairs; `float_results` are kinds whose results have none."""
    extra = dict(setting.options)
    extra["OpTypesToExcludeOutputQuantization"] = list(float_results)
    extra["ActivationSymmetric"] = setting.activations == QuantType.QInt8
    copy = onnx.ModelProto()
    copy.CopyFrom(model)  # it is given external data in place
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "target.onnx"
        with silence():
            quantize_static(
                copy,
                target,
                Batches(batches),
                op_types_to_quantize=None if kinds is None else list(kinds),
                per_channel=setting.per_channel,
                activation_type=setting.activations,
                weight_type=QuantType.QInt8,
                calibrate_method=setting.calibration,
                extra_options=extra,
            )
        return target.read_bytes()


def quantized_dynamically(
    model: onnx.ModelProto, *, per_channel: bool, kinds: Sequence[str] | None = None
) -> bytes:
    """The network with activations quantized while it runs."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "target.onnx"
        with silence():
            quantize_dynamic(
                model,
                target,
                per_channel=per_channel,
                op_types_to_quantize=None if kinds is None else list(kinds),
            )
        return target.read_bytes()


def session(model: bytes) -> onnxruntime.InferenceSession:
    """A network ready to run."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )
