"""Nodes on quantized elements as nodes on their stored integers and exact floats.

| file            | nodes                                                   |
|-----------------|---------------------------------------------------------|
| `parts.py`      | reading stored values, rounding and saturating results  |
| `fixed_point.py` | multipliers without floating point                     |
| `arithmetic.py` | casts, sums, pools, rescaling, tables, movement         |
| `products.py`   | convolutions and matrix products                        |
| `integer_products.py` | the same of bytes, where a backend has kernels    |
| `dynamic.py`    | what is quantized at run time                           |
"""
