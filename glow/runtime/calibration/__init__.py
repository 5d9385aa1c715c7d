"""Measures the figures of this machine's core that tables hold (`lowering/target/cores`).

| file            | what it has                                                     |
|-----------------|-----------------------------------------------------------------|
| `loops.py`      | native loops, each of which takes the time of one figure        |
| `figures.py`    | the figures that they give                                      |
| `cross_core.py` | a cache line's round trip between two cores                     |
"""
