"""Runs single loops-level functions: for the tests of kernels and of the lowering."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.target.target import Target, host_target
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object

Array = npt.NDArray[np.generic]


class CompiledFunction:
    """A loops-level function in native code.

    Call it with one NumPy array per memref argument (contiguous, right dtype; arrays
    are passed by address and written in place), and Python ints for the index arguments
    behind them. `text` is the LLVM IR.
    """

    def __init__(
        self, function: FuncOp | ModuleOp, name: str, target: Target | None = None
    ):
        target = target or host_target()
        functions = functions_of(function)
        self.text = emit_functions(lower_functions(functions, target), target)
        self.library = Library([compile_object(self.text, target)], [name])
        self.address = self.library.address(name)

    def __call__(self, *arguments: Array | int) -> None:
        call = ctypes.CFUNCTYPE(None, *map(argument_type, arguments))(self.address)
        call(*(a if isinstance(a, int) else a.ctypes.data for a in arguments))


def argument_type(
    argument: Array | int,
) -> type[ctypes.c_void_p | ctypes.c_int64]:
    """Returns the C type that an argument is passed as; checks that it is contiguous."""
    if isinstance(argument, int):
        return ctypes.c_int64
    if not argument.flags.c_contiguous:
        raise ValueError("arrays must be contiguous")
    return ctypes.c_void_p


def functions_of(function: FuncOp | ModuleOp) -> list[FuncOp]:
    """Returns the functions of a module, or the one function itself."""
    if isinstance(function, FuncOp):
        return [function]
    return [op for op in function.ops if isinstance(op, FuncOp)]


def compile_function(
    function: FuncOp | ModuleOp, name: str | None = None, target: Target | None = None
) -> CompiledFunction:
    """Returns a loops-level function compiled for the target (default: this machine).

    Of a module, the function called `name` (default: the first).
    """
    name = name or functions_of(function)[0].sym_name.data
    return CompiledFunction(function, name, target)


def run_function(
    function: FuncOp | ModuleOp, arrays: Sequence[Array], *integers: int
) -> None:
    """Compiles one loops-level function and calls it.

    `arrays` are the memref arguments in order (outputs are written in place), `integers`
    the index arguments that follow them, such as `lo, hi`:

        run_function(kernel, [y, x, w], 0, work_items)

    The function may be stand-alone or in a module with the functions that it calls.
    """
    compile_function(function)(*arrays, *integers)
