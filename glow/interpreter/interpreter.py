"""Runs whole modules on xDSL's interpreter: values are NumPy arrays.

`func` and `scf` are xDSL's own implementations; nodes and scalar operations come from
the tables of `evaluation` and `scalar_functions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import ModuleOp, ShapedType
from xdsl.dialects.func import CallOp, FuncOp
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

from glow.backends.backend import ReferenceFunction, backends_in
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import filled_outputs
from glow.dialects.node import shape_of
from glow.interpreter.arrays import Array
from glow.interpreter.evaluation import FUNCTIONS, evaluate_node, evaluate_scalar
from glow.interpreter.instructions import (
    Method,
    empty,
    instruction_methods,
    written_arguments,
)
from glow.interpreter.scalar_functions import SCALARS, Function, element_dtype
from glow.interpreter.variables import Variables, variable_methods

Functions = Mapping[type[Operation], ReferenceFunction]
NO_FUNCTIONS: Functions = {}

Methods = Mapping[type[Operation], Method]


class _Functions(InterpreterFunctions):
    """XDSL's implementations object for a table of methods."""

    def __init__(self, methods: Methods) -> None:
        self.methods = methods


def _call(
    self: _Functions, interpreter: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    return self.methods[type(op)](self, interpreter, op, args)


@lru_cache(maxsize=16)
def _class_for(ops: tuple[type[Operation], ...]) -> type[_Functions]:
    """A class of implementations objects for operations: making one takes milliseconds."""
    namespace = {f"run_{op.__module__}_{op.name}": impl(op)(_call) for op in ops}
    return register_impls(type("Functions", (_Functions,), namespace))


def _functions(methods: Methods) -> InterpreterFunctions:
    return _class_for(tuple(methods))(methods)


def _run_scalar(
    self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    with np.errstate(all="ignore"):
        return (evaluate_scalar(op, [np.asarray(arg) for arg in args]),)


def _run_extract(
    self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    """The element of an array, a condition or the number of iterations."""
    array, *indices = args
    return (np.asarray(array)[tuple(map(int, indices))],)


def _node_methods(functions: Mapping[type[Operation], Function]) -> Methods:
    def run_node(
        self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        return tuple(evaluate_node(op, args, functions))

    return dict.fromkeys(functions, run_node)


def make_interpreter(
    module: ModuleOp, own: Functions = NO_FUNCTIONS, variables: Variables | None = None
) -> Interpreter:
    """An xDSL interpreter that knows our levels; add listeners to observe each node.

    Nodes of backends are computed as these say, or as `own` says. An interpreter serves
    one run, since it keeps the memory of the `instr` level. Reads of variables give what
    `variables` has, which keeps what is saved until `commit`; by default the initial values.
    """
    nodes = {**FUNCTIONS}
    for backend in backends_in(module):
        nodes |= backend.reference_functions(module)
    nodes |= own
    interpreter = Interpreter(module)
    for functions in (
        _functions(_node_methods(nodes)),
        _functions(dict.fromkeys(SCALARS, _run_scalar)),
        _functions(dict.fromkeys((tensor.ExtractOp, memref.LoadOp), _run_extract)),
        _functions(instruction_methods(nodes)),
        _functions(variable_methods(variables or Variables({}))),
        FuncFunctions(),
        ScfFunctions(),
    ):
        interpreter.register_implementations(functions)
    return interpreter


def find_function(module: ModuleOp, name: str) -> FuncOp:
    """The function of that name; raises GlowError listing what there is."""
    found = SymbolTable.lookup_symbol(module, name)
    if isinstance(found, FuncOp):
        return found
    names = ", ".join(op.sym_name.data for op in module.ops if isinstance(op, FuncOp))
    raise GlowError(f"no function '{name}'; the module has {names or 'no functions'}")


def _with_callees(module: ModuleOp, function: FuncOp) -> list[FuncOp]:
    """A function and those that it calls, and these in turn, each once."""
    found = [function]
    for one in found:  # Which grows meanwhile.
        for op in one.walk():
            if isinstance(op, CallOp):
                callee = find_function(module, op.callee.string_value())
                if callee not in found:
                    found.append(callee)
    return found


def describe(array: Array) -> str:
    """`float32 [1, 3, 224, 224]`."""
    return f"{array.dtype} {list(array.shape)}"


def check_input(number: int, value: Any, expected: Attribute) -> Array:
    """The input as an array; raises GlowError unless it has the argument's type."""
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    dtype = element_dtype(expected)
    shape = shape_of(expected) if isinstance(expected, ShapedType) else ()
    if array.dtype != dtype or array.shape != shape:
        raise GlowError(
            f"input {number} is {describe(array)}, expected {dtype} {list(shape)}"
        )
    return array


def make_arguments(
    function: FuncOp, inputs: Sequence[Any], outputs: Sequence[int]
) -> list[Array]:
    """The arguments of a function: checked inputs, and new buffers for its outputs."""
    types = function.function_type.inputs.data
    wanted = [number for number in range(len(types)) if number not in outputs]
    if len(inputs) != len(wanted):
        raise GlowError(
            f"function '{function.sym_name.data}' takes {len(wanted)} inputs, "
            f"not {len(inputs)}"
        )
    arguments = {number: empty(types[number]) for number in outputs}
    for position, (number, value) in enumerate(zip(wanted, inputs, strict=True)):
        arguments[number] = check_input(position, value, types[number])
    return [arguments[number] for number in range(len(types))]


def _first_cause(error: BaseException) -> BaseException:
    """The innermost error: xDSL wraps it once for each region around the operation."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def run(
    module: ModuleOp,
    inputs: Sequence[Any],
    function: str = "main",
    own: Functions = NO_FUNCTIONS,
    variables: dict[str, Array] | None = None,
) -> list[Array]:
    """The results of a function of the module for arrays of its argument types.

    `variables` are the values of the function's variables by name, which the call changes in
    place; it adds those that are missing with their initial values. After an error none has
    changed; on buffers, where instructions write them, some may.

    At the `instr` level the inputs are the arguments that the function only reads, and
    the results are the arguments that it writes. Raises GlowError in one line: for
    inputs that do not fit, unknown operations and indices out of range.
    """
    callee = find_function(module, function)
    outputs = written_arguments(callee)
    arguments = make_arguments(callee, inputs, outputs)
    for filled in filled_outputs(callee):
        filled.fill(arguments, arguments)
    state = Variables({} if variables is None else variables)
    for one in _with_callees(module, callee):
        state.add_missing(one)
    try:
        interpreter = make_interpreter(module, own, state)
        results = interpreter.call_op(callee, tuple(arguments))
    except Exception as error:
        cause = _first_cause(error)
        if isinstance(cause, GlowError):
            # xDSL has written the whole module into it.
            raise GlowError(
                cause.message, node=cause.node, location=cause.location, hint=cause.hint
            ) from None
        reason = str(cause) or type(cause).__name__
        raise GlowError(f"interpreting '{function}': {reason}") from error
    results = [np.array(result) for result in results]
    state.commit()
    return [*results, *(arguments[number] for number in outputs)]
