"""The CPU's layouts: blocked convolutional parts, packed weights, borders between.

| file               | what                                                       |
|--------------------|------------------------------------------------------------|
| `packing.py`       | weights in the order in which kernels read them            |
| `conv_shape.py`    | what decides how a convolution is done                     |
| `layout.py`        | blocked forms of values, shared by all rules               |
| `convolution.py`   | which convolution becomes which `cpu` node                 |
| `groups/`          | groups on their own                                        |
| `winograd/`        | which of them are done with few multiplications            |
| `products.py`      | products with constant matrices                            |
| `indexed_products.py` | products with the matrices that indices pick            |
| `integers/`        | convolutions, products and pools of bytes                  |
| `rows.py`          | softmax and layer normalization with a cast behind         |
| `propagation.py`   | nodes that work on blocked tensors as they are             |
| `tokens.py`, `blocks_of_tokens.py` | images in blocks as rows of channels, and back |
| `image_norm.py`    | normalizations of channels over their pixels               |
| `volumes.py`       | volumes, as planes in blocks                               |
| `assign_layout.py` | the table and the pass                                     |
"""
