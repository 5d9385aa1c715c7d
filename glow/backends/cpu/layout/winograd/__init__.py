"""Convolutions with few multiplications, and what makes others such ones.

| file                | what                                                          |
|---------------------|---------------------------------------------------------------|
| `choice.py`         | whether that is faster, and by which tiles                    |
| `budget.py`         | which of them may have larger weights                         |
| `convolution.py`    | the node of one                                               |
| `dense_windows.py`  | windows with a dilation as ones without                       |
| `space_to_depth.py` | strided layers as ones of stride one                          |
"""
