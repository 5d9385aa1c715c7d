"""Differentiation of the graph: the pass, and a rule for each differentiable node.

| file                   | holds                                                        |
|------------------------|--------------------------------------------------------------|
| `differentiate.py`     | the pass: returns the gradients, or lets an optimizer use them |
| `targets.py`           | finds the loss and the variables by name                     |
| `reverse_walk.py`      | goes through the nodes from the loss back, and sums gradients |
| `gradient_builder.py`  | what rules build with; leaves out what changes nothing       |
| `broadcasting.py`      | undoes broadcasting                                          |
| `region_copies.py`     | copies of regions, walked back in their place                |
| `backward_loop.py`     | the loop that goes back through a loop                       |
| `recurrent_layer.py`, `recurrent_cells.py` | recurrent layers, and their cells        |
| `rules/`               | the rules by theme; `RULES` is all of them                   |
"""
