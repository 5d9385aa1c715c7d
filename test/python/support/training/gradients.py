"""Checks gradients against central differences, in float64 on the interpreter.

    check_gradients('''
      func.func @main(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>) -> tensor<3x5xf64> {
        %y = glow.matmul %x, %w : tensor<3x5xf64>
        func.return %y : tensor<3x5xf64>
      }
    ''')

The loss is the sum of all results of floats, each element times a random number; inputs are
random where none are given. Gradients are compared along random directions, one input at a
time: a slope along a direction needs four runs, whatever the size, and a wrong element of a
gradient shows in almost all directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from support.nodes.differential import Array, Example, assert_all_close, random_array
from support.nodes.random_nodes import Chooser
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

import glow as glow_api
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of, element_type_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.passes.graph.differentiate.reverse_walk import is_differentiable
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.universe import new_context

STEP = 1e-4
"""Of fourth-order differences: what they leave out is of size 1e-16, rounding 1e-12."""

DIRECTIONS = 2


class Kink(AssertionError):
    """The function has a kink or a step near the inputs, so that differences say nothing."""


class Case(Chooser):
    """Random choices of a small example."""

    def shape(self, rank: int) -> tuple[int, ...]:
        """A shape of at most four elements an axis."""
        return tuple(self.integer(1, 4) for _ in range(rank))

    def numbers(self, *shape: int) -> Array:
        """Random floats."""
        return np.asarray(self.random.standard_normal(shape))

    def positive(self, *shape: int) -> Array:
        """Random floats from 0.3 on."""
        return np.abs(self.numbers(*shape)) + 0.3

    def flag(self) -> bool:
        """True or false."""
        return bool(self.integer(0, 1))


def add_loss(function: FuncOp, seed: int = 0, name: str = "loss") -> None:
    """Return, in place of a function's results, one number that depends on all floats."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    builder = NodeBuilder(last)
    total = None
    for number, result in enumerate(filter(is_differentiable, last.operands)):
        shape, dtype = shape_of(result), dtype_of(element_type(result))
        weights = random_array(shape, dtype, seed=[seed, number])
        factor = builder.constant(weights, f"{name}_weights")
        product = builder.node(glow.MulOp, result, factor)
        axes = list(range(len(shape)))
        term = builder.node(glow.ReduceSumOp, product, axes=axes) if axes else product
        total = term if total is None else builder.node(glow.AddOp, total, term)
    assert total is not None, "no result has elements of floats"
    total.name_hint = name
    last.operands = [total]
    function.update_function_type()


def main_of(module: ModuleOp) -> FuncOp:
    """The function `main`."""
    return next(
        op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"
    )


def slope(
    function: Callable[[Array], float], at: Array, direction: Array, scale: float
) -> float:
    """The derivative along a direction; raises Kink where it is not smooth.

    `scale` is how large slopes are that do not cancel.
    """

    def difference(step: float) -> float:
        high, low = function(at + step * direction), function(at - step * direction)
        return (high - low) / (2 * step)

    whole, half = difference(STEP), difference(STEP / 2)
    if abs(whole - half) > 1e-5 * max(abs(whole), abs(half), scale):
        raise Kink(f"slopes of {whole} and {half} nearby")
    return (4 * half - whole) / 3


def random_inputs(module: ModuleOp, seed: int = 0) -> list[Array]:
    """A random array for each argument."""
    return [
        random_array(
            shape_of(argument), dtype_of(element_type(argument)), seed=[seed, number]
        )
        for number, argument in enumerate(main_of(module).args)
    ]


def differentiated(
    module: ModuleOp, wrt: Sequence[str] | None = None, seed: int = 0
) -> tuple[ModuleOp, Sequence[str]]:
    """Let a module return a loss; a copy that returns gradients too, and of what they are."""
    add_loss(main_of(module), seed)
    arguments = main_of(module).args
    for number, argument in enumerate(arguments):
        argument.name_hint = argument.name_hint or f"argument_{'abcdefgh'[number]}"
    if wrt is None:
        wrt = [one.name_hint for one in arguments if is_differentiable(one)]
    backward = module.clone()
    DifferentiatePass(loss="loss", wrt=tuple(wrt)).apply(new_context(), backward)
    backward.verify()
    return backward, wrt


def check_gradients(
    program: str | ModuleOp,
    inputs: Sequence[Array] | None = None,
    *,
    wrt: Sequence[str] | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
) -> ModuleOp:
    """Compare the gradients of `main` with central differences; returns what computes them.

    `wrt` names arguments, all of f64 if it is left out. Differences are relative to the
    slope, or to that along most directions where it is larger.
    """
    module = (
        program
        if isinstance(program, ModuleOp)
        else parse_text(new_context(), program, "gradients.mlir")
    )
    inputs = random_inputs(module, seed) if inputs is None else list(inputs)
    backward, wrt = differentiated(module, wrt, seed)
    names = [argument.name_hint for argument in main_of(module).args]
    loss, *gradients = run(backward, inputs)
    np.testing.assert_array_equal(loss, run(module, inputs)[0], "the loss has changed")
    for name, gradient in zip(wrt, gradients, strict=True):
        place = names.index(name)
        assert gradient.shape == inputs[place].shape, f"gradient of {name}"
        for number in range(DIRECTIONS):
            direction = random_array(gradient.shape, np.float64, seed=[seed, number, 7])
            check_direction(module, inputs, place, (gradient, direction), tolerance)
    return backward


def check_direction(module, inputs, place, gradient_and_direction, tolerance) -> None:
    """Compare a gradient along a direction of one input."""
    gradient, direction = gradient_and_direction

    def loss_at(value: Array) -> float:
        changed = [*inputs[:place], value, *inputs[place + 1 :]]
        return float(run(module, changed)[0].reshape(()))

    # The slope along a direction that has nothing to do with the gradient.
    length = np.linalg.norm(gradient) / np.sqrt(gradient.size)
    scale = max(length * np.linalg.norm(direction), 1e-3)
    expected = slope(loss_at, inputs[place], direction, scale)
    found = float(np.sum(gradient * direction))
    largest = max(abs(expected), scale)
    assert abs(found - expected) <= tolerance * largest, (
        f"the slope along a direction of input {place} is {expected}, "
        f"by the gradient {found}"
    )


def with_floats(example: Example, dtype: npt.DTypeLike) -> Example:
    """The example with another type of floats."""
    inputs = tuple(
        array.astype(dtype) if array.dtype.kind == "f" else array
        for array in example.inputs
    )
    result = example.result
    if result is not None and dtype_of(result.element_type).kind == "f":
        element = element_type_of(np.dtype(dtype))
        result = tensor_type(result.get_shape(), element)
    return replace(example, inputs=inputs, result=result)


def check_example(example: Example, **settings) -> ModuleOp:
    """`check_gradients` of an example of a node, at its inputs."""
    example = with_floats(example, np.float64)
    return check_gradients(example.module(), example.inputs, **settings)


def node_example(
    node: type[NodeOp], *shapes: Sequence[int], seed: int = 0, **attributes
) -> Example:
    """An example of a node on random operands of f64."""
    inputs = tuple(
        random_array(shape, np.float64, seed=[seed, number])
        for number, shape in enumerate(shapes)
    )
    return Example(node.name, node, inputs, attributes)


def check_native(example: Example) -> None:
    """Compare gradients in f32 by native code with those of the interpreter."""
    example = with_floats(example, np.float32)
    backward, _ = differentiated(example.module())
    expected = run(backward, example.inputs)
    found = glow_api.compile(backward, backend="cpu").function.run(example.inputs)
    assert_all_close(found, expected, relative_to_max=1e-5)
