"""The reference semantics of our dialects in NumPy, on xDSL's interpreter framework.

`run` executes a module, `evaluate_node` one node (the constant folder's entry), and
`make_interpreter` gives an xDSL interpreter to which listeners can be attached.
"""

from glow.interpreter.cpu_nodes import Packing
from glow.interpreter.evaluation import FUNCTIONS, evaluate_node, evaluate_region
from glow.interpreter.interpreter import make_interpreter, run

__all__ = [
    "FUNCTIONS",
    "Packing",
    "evaluate_node",
    "evaluate_region",
    "make_interpreter",
    "run",
]
