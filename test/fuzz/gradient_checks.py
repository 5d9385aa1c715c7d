"""Checks of gradients of random nodes: against differences, and of native code."""

from __future__ import annotations

import sys
from pathlib import Path

from checks import Wrong

sys.path.append(str(Path(__file__).parents[1] / "python"))

from gradient_graphs import gradient_graph
from support.training.gradient_cases import CASES, check_case, gradient_example
from support.training.gradients import Kink, check_gradients, check_native

NAMES = tuple(CASES)


def check_gradient(seed: int) -> int:
    """Compare the gradients of a node, one after the other as seeds count; 1."""
    name = NAMES[seed % len(NAMES)]
    try:
        check_case(name, seed)
    except Exception as error:
        raise Wrong(f"seed {seed}: {name}: {type(error).__name__}: {error}") from None
    return 1


def check_gradient_graph(seed: int) -> int:
    """Compare the gradients of a random graph; 1, or 0 if it has a kink nearby."""
    try:
        check_gradients(gradient_graph(seed), seed=seed)
    except Kink:
        return 0
    except Exception as error:
        raise Wrong(f"seed {seed}: {type(error).__name__}: {error}") from None
    return 1


def check_native_gradient(seed: int) -> int:
    """Compare the gradients by native code with those of the interpreter; 1."""
    name = NAMES[seed // 4 % len(NAMES)]
    try:
        check_native(gradient_example(name, seed))
    except Exception as error:
        raise Wrong(f"seed {seed}: {name}: {type(error).__name__}: {error}") from None
    return 1
