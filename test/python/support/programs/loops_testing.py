"""What the tests of the lowering share: parsing, sample data, execution."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_module
from glow.lowering.loops_to_llvm.verify_loops import verify_loops
from glow.lowering.target.target import host_target
from glow.runtime.testing import run_function
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

SIZES = (1, 3, 16, 24, 31, 64)
"""One lane, odd rows, one register, one register and a half, many pieces, wide."""


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


def element_wise(body: str, inputs: list[str], output: str, size: int) -> ModuleOp:
    """Returns a function that applies `body` (from %a, %b, %c to %r) to whole vectors.

    `{0}` in the body stands for the vector type of the first input, and so on;
    `{r}` for the result's.
    """
    names = "abc"[: len(inputs)]
    types = {name: f"memref<{size}x{e}>" for name, e in zip(names, inputs, strict=True)}
    vectors = [f"vector<{size}x{e}>" for e in inputs]
    arguments = "".join(f", %m{name}: {types[name]}" for name in names)
    loads = "\n".join(
        f"%{name} = vector.load %m{name}[%c0] : {types[name]}, {vector}"
        for name, vector in zip(names, vectors, strict=True)
    )
    result = f"vector<{size}x{output}>"
    text = f"""
    func.func @f(%y: memref<{size}x{output}>{arguments}) {{
      %c0 = arith.constant 0 : index
      {loads}
      {body.format(*vectors, r=result)}
      vector.store %r, %y[%c0] : memref<{size}x{output}>, {result}
      func.return
    }}"""
    return parse_loops(text)


def execute(body: str, output: str, *inputs: tuple[str, Array]) -> Array:
    """Returns what `body` makes of the inputs."""
    size = inputs[0][1].size
    module = element_wise(body, [name for name, _ in inputs], output, size)
    result = np.zeros(size, DTYPES[output])
    run_function(module, [result, *(array for _, array in inputs)])
    return result
