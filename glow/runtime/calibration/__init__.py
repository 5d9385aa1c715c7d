"""Measures the figures of this machine's core that tables hold (`lowering/target/cores`).

| file            | what it has                                                     |
|-----------------|-----------------------------------------------------------------|
| `loops.py`      | native loops, each of which takes the time of one figure        |
| `all_cores.py`  | what all cores do at once: read, and wait for each other        |
| `figures.py`    | the figures that these give                                     |
| `cross_core.py` | a cache line's round trip between two cores                     |
"""
