"""Nodes that training adds to a network.

| file             | nodes                                               |
|------------------|-----------------------------------------------------|
| `layers.py`      | batch normalization, dropout, random numbers        |
| `loss.py`        | losses                                              |
| `optimizers.py`  | steps of optimizers, as formulas (`terms.py`)       |
| `adaptive.py`    | steps of RMSProp, Adagrad and LAMB                  |
| `fake_quantization.py` | quantization in floats                        |
"""
