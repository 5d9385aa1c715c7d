"""Convolutions, products and pools of bytes.

| file               | what                                                       |
|--------------------|------------------------------------------------------------|
| `products.py`      | convolutions and matmuls of int8                           |
| `int8_products.py` | int8 matmuls with dynamic operands                         |
| `pools.py`         | averages as sums of bytes                                  |
| `packing.py`       | weights in the order in which kernels read them            |
"""
