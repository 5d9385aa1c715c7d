"""Files of TensorFlow Lite that stand beside bundles compute what the network computes."""

import numpy as np
import pytest

from benchmarks.networks import embedded

runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")


def test_a_file_has_the_results_of_its_network() -> None:
    from benchmarks.bundles_tflite.__main__ import schema_module
    from benchmarks.bundles_tflite.model_file import ModelWriter, channels_last

    model = embedded.NETWORKS["keyword_spotting"]()
    writer = ModelWriter(model, schema_module())
    interpreter = runtime.Interpreter.from_bytes(writer.content())
    (image,) = embedded.sample_inputs(model, 1).values()

    def scale_of(details: dict) -> tuple[float, int]:
        parameters = details["quantization_parameters"]
        return parameters["scales"][0], parameters["zero_points"][0]

    scale, zero_point = scale_of(interpreter.get_input_details(0))
    levels = np.rint(channels_last(image) / scale) + zero_point
    interpreter.set_input(np.clip(levels, -128, 127).astype(np.int8), 0)
    interpreter.invoke()
    scale, zero_point = scale_of(interpreter.get_output_details(0))
    found = (interpreter.get_output(0).astype(np.float32) - zero_point) * scale
    expected = writer.values[model.graph.output[0].name]
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()
    assert set(writer.operator_names) == {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "AVERAGE_POOL_2D",
        "FULLY_CONNECTED",
    }
