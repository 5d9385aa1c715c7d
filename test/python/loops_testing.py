"""What the tests of the lowering share: parsing, sample data."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_module
from glow.lowering.loops_to_llvm.verify_loops import verify_loops
from glow.lowering.target import host_target
from glow.universe import new_context

Array = npt.NDArray[np.generic]

DTYPES: dict[str, npt.DTypeLike] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def parse_loops(text: str) -> ModuleOp:
    """Returns the verified module of a text; what it is lowered to is verified too."""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    verify_loops(module)
    lower_module(module, host_target()).verify()
    return module


def sample(element: str, size: int, seed: int = 0) -> Array:
    """Returns test numbers of a type: both signs, no zero among the integers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[element])
    if element == "i1":
        return rng.integers(0, 2, size).astype(np.bool_)
    if element.startswith("i"):
        numbers = rng.integers(1, 100, size) * rng.choice([-1, 1], size)
        return numbers.astype(dtype)
    return (rng.standard_normal(size) * 3).astype(dtype)
