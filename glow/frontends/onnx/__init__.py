"""Imports ONNX models, opset 1 to the newest of the installed `onnx` package.

| file                | holds                                                       |
|---------------------|-------------------------------------------------------------|
| `programs/`         | `import_model`: inputs, outputs, one program or more        |
| `importer.py`       | the walk over nodes                                         |
| `loader.py`         | reading and checking of the file                            |
| `node_order.py`     | sorting of graphs whose nodes are not in order              |
| `messages.py`       | the classes of ONNX's messages, without its package         |
| `wire_format.py`    | cutting the weights out of the file's message               |
| `tensors.py`        | weights as zero-copy arrays, external data                  |
| `external_files.py` | hashes of the files of weights beside the model             |
| `inputs.py`         | types of inputs and outputs                                 |
| `node.py`           | what a handler sees of a node                               |
| `graph.py`          | the function under construction and its constants           |
| `folding.py`        | nodes on constants, computed at import                      |
| `functions.py`      | operators that ONNX defines by a body of others             |
| `call_graph.py`     | how many nodes the functions of a model stand for           |
| `old_forms.py`      | operators of opsets before 7 as those of opset 7           |
| `registry.py`       | `HANDLERS`: operator name to handler                        |
| `refusal.py`        | how a handler refuses its node                              |
| `unsupported.py`    | the one message about all operators that we lack            |
| `operators/`        | handlers by theme                                           |

An operator that is one node is named at the node (`NodeOp.ONNX`), and `operators/plain.py`
enters it; any other is one function with `@onnx_op("Name")` in the file of its theme in
`operators/`.
"""

from glow.frontends.onnx.programs.starts import Step
from glow.frontends.onnx.programs.steps import (
    end_of_programs,
    import_model,
    import_step,
)

__all__ = ["Step", "end_of_programs", "import_model", "import_step"]
