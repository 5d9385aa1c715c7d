"""One operator with inputs and constants: both backends against ONNX Runtime."""

import numpy as np
from onnx import helper, numpy_helper
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs

import glow

OPSET, IR_VERSION = 21, 10


def model_of(operator, inputs, constants=(), outputs=1, **attributes):
    """A model of one node, and the arrays that it is called with by name.

    `inputs` are arrays, None for one that is left out; `constants` are the numbers of those
    that the model holds. `domain` may be among the attributes.
    """
    names = ["" if array is None else f"x{k}" for k, array in enumerate(inputs)]
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(operator, names, results, **attributes)
    given = {name: array for name, array in zip(names, inputs, strict=True) if name}
    held = {
        name: given.pop(name) for name in [f"x{k}" for k in constants] if name in given
    }
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in given.items()
    ]
    graph = helper.make_graph(
        [node],
        operator,
        infos,
        [helper.make_empty_tensor_value_info(name) for name in results],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), given


def check_operator(operator, inputs, constants=(), tolerance=0.0, **attributes):
    """Both backends compute what ONNX Runtime does; integers exactly."""
    model, given = model_of(operator, inputs, constants, **attributes)
    expected = list(onnxruntime_outputs(model, given).values())
    for backend in ("interpreter", "cpu"):
        results = glow.compile(model, backend=backend)(*given.values())
        results = results if isinstance(results, tuple | list) else [results]
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            exact = wanted.dtype.kind in "iu"
            result, wanted = (np.asarray(a, np.float64) for a in (result, wanted))
            bound = 0 if exact else tolerance
            np.testing.assert_allclose(result, wanted, bound, bound, err_msg=backend)
