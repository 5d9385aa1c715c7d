"""Runs whole modules on xDSL's interpreter: values are NumPy arrays.

`func` and `scf` are xDSL's own implementations; nodes and scalar operations come from
the tables of `evaluation` and `scalar_functions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ContainerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from glow.dialects.errors import GlowError
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array, dtype_of
from glow.interpreter.evaluation import (
    FUNCTIONS,
    evaluate_node,
    evaluate_scalar,
)
from glow.interpreter.scalar_functions import SCALARS


def _run_node(
    self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    return tuple(evaluate_node(op, args))


def _run_scalar(
    self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    with np.errstate(all="ignore"):
        return (evaluate_scalar(op, [np.asarray(arg) for arg in args]),)


GlowFunctions = register_impls(
    type(
        "GlowFunctions",
        (InterpreterFunctions,),
        {f"run_{op.name}": impl(op)(_run_node) for op in FUNCTIONS},
    )
)
ScalarFunctions = register_impls(
    type(
        "ScalarFunctions",
        (InterpreterFunctions,),
        {f"run_{op.__module__}_{op.name}": impl(op)(_run_scalar) for op in SCALARS},
    )
)


def make_interpreter(module: ModuleOp) -> Interpreter:
    """An xDSL interpreter that knows our levels; add listeners to observe each node."""
    interpreter = Interpreter(module)
    for functions in (GlowFunctions, ScalarFunctions, FuncFunctions, ScfFunctions):
        interpreter.register_implementations(functions())
    return interpreter


def find_function(module: ModuleOp, name: str) -> FuncOp:
    """The function of that name; raises GlowError listing what there is."""
    found = SymbolTable.lookup_symbol(module, name)
    if isinstance(found, FuncOp):
        return found
    names = ", ".join(op.sym_name.data for op in module.ops if isinstance(op, FuncOp))
    raise GlowError(f"no function '{name}'; the module has {names or 'no functions'}")


def describe(array: Array) -> str:
    """`float32 [1, 3, 224, 224]`."""
    return f"{array.dtype} {list(array.shape)}"


def check_input(number: int, value: Any, expected: Attribute) -> Array:
    """The input as an array; raises GlowError unless it has the argument's type."""
    array = np.asarray(value)
    is_shaped = isinstance(expected, ContainerType)
    dtype = dtype_of(expected.get_element_type() if is_shaped else expected)
    shape = shape_of(expected) if is_shaped else ()
    if array.dtype != dtype or array.shape != shape:
        raise GlowError(
            f"input {number} is {describe(array)}, expected {dtype} {list(shape)}"
        )
    return array


def check_inputs(function: FuncOp, inputs: Sequence[Any]) -> list[Array]:
    """The inputs as arrays of the argument types; raises GlowError."""
    types = function.function_type.inputs.data
    if len(inputs) != len(types):
        raise GlowError(
            f"function '{function.sym_name.data}' takes {len(types)} inputs, "
            f"not {len(inputs)}"
        )
    return [
        check_input(number, value, expected)
        for number, (value, expected) in enumerate(zip(inputs, types, strict=True))
    ]


def _first_cause(error: BaseException) -> BaseException:
    """The innermost error: xDSL wraps it once for each region around the operation."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def run(module: ModuleOp, inputs: Sequence[Any], function: str = "main") -> list[Array]:
    """The results of a function of the module for arrays of its argument types.

    Raises GlowError in one line: for inputs that do not fit, unknown operations and
    indices out of range.
    """
    callee = find_function(module, function)
    arguments = check_inputs(callee, inputs)
    try:
        results = make_interpreter(module).call_op(callee, tuple(arguments))
    except Exception as error:
        cause = _first_cause(error)
        if isinstance(cause, GlowError):
            raise cause from None
        raise GlowError(f"interpreting '{function}': {cause}") from error
    return [np.asarray(result) for result in results]
