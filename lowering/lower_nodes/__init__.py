"""High-level nodes into few primitives, with the backend's say.

| file               | what                                                       |
|--------------------|------------------------------------------------------------|
| `legality.py`      | what stays as it is                                        |
| `elementwise.py`   | non-linearities into arithmetic                            |
| `normalization.py` | batch and layer normalization, softmax, mean               |
| `products.py`      | gemm, layers, batched products, groups, 1x1 convolutions   |
| `movement.py`      | tile, broadcast, pad                                       |
| `sampling.py`      | sums of elements at places into gathers and products       |
| `recurrent.py`     | recurrent layers into loops                                |
| `cells.py`         | what a step of a recurrent layer computes                  |
| `attention.py`     | attention into products and a softmax                      |
| `lower_nodes.py`   | the table and the pass                                     |

Convolutions over volumes are lowered by `passes/rewriting/volume_convolution.py`, before this pass
where they are quantized: only those over planes have an integer form.
"""
