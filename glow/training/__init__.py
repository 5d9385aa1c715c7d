"""Training: a network, its derivative and an optimizer as one compiled function.

| file              | holds                                                          |
|-------------------|----------------------------------------------------------------|
| `program.py`      | the graph of a step: network, loss, gradients, updates         |
| `losses.py`       | which labels a loss takes, and its node                        |
| `initialization.py` | random weights to start from                                 |
| `step.py`         | `TrainStep`: the compiled step, its state and files            |
| `finite.py`       | the first node of a step whose result is not finite            |
| `checkpoint.py`   | the state of a step as a safetensors file                      |
| `inference.py`    | the trained network: to run, and as an ONNX file               |
| `data.py`         | batches of arrays, files and iterables                         |
| `schedules.py`    | rates that change from step to step                            |
| `loops.py`        | `glow.train`: epochs over a data set                           |
"""
