"""Random typed graphs of all nodes, with the shapes that rewrites look for.

A seed names a graph. Each step adds a node whose operands are values that are there, or
new arguments and constants; some steps add a whole idiom (`idioms.py`), since no random
walk spells a layer normalization. Values stay small, so that results can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of, element_type_of
from glow.dialects.weights import new_constant, weights_of

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

F32 = np.dtype(np.float32)
DTYPES = tuple(map(np.dtype, ("float16", "float64", "int32", "int64", "int8", "bool")))
SIZES = (1, 2, 3, 4, 5, 6, 8)


class Choices:
    """Random choices, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, choices: Any) -> Any:
        """One of some choices."""
        return choices[int(self.random.integers(len(choices)))]

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return bool(self.random.random() < probability)

    def shape(self, rank: int) -> Shape:
        """A small shape."""
        return tuple(self.one_of(SIZES) for _ in range(rank))

    def dtype(self) -> np.dtype[Any]:
        """Mostly float32."""
        return F32 if self.chance(0.85) else self.one_of(DTYPES)

    def array(self, shape: Shape, dtype: np.dtype[Any] = F32) -> Array:
        """Random elements, now and then all the same."""
        if dtype.kind == "b":
            return self.random.random(shape) < 0.5
        if dtype.kind in "iu":
            return self.random.integers(-4, 5, shape).astype(dtype)
        if self.chance(0.15):
            return np.full(shape, self.one_of((0.0, 1.0, -1.0, 0.5, 2.0)), dtype)
        return np.asarray(self.random.standard_normal(shape)).astype(dtype)


class GraphMaker(Choices):
    """A function under construction: values so far, and random choices."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.block = Block()
        self.module = ModuleOp([FuncOp("main", ((), ()), Region(self.block))])
        self.inputs: list[Array] = []
        self.values: list[SSAValue] = []

    # Values

    def argument(self, array: Array) -> SSAValue:
        """A new argument of the function, whose input will be the array."""
        self.inputs.append(array)
        value_type = tensor_type(array.shape, element_type_of(array.dtype))
        value = self.block.insert_arg(value_type, len(self.block.args))
        self.values.append(value)
        return value

    def constant(self, array: Array) -> SSAValue:
        """A constant: a splat where that is possible, small ones inline, or a weight."""
        if array.size and np.all(array == array.ravel()[0]) and array.dtype.kind != "b":
            element = element_type_of(array.dtype)
            number = array.ravel()[0].item()
            op = glow.SplatOp.from_number(number, tensor_type(array.shape, element))
        else:
            op = new_constant(weights_of(self.module), array, "w")
        self.block.add_op(op)
        return op.results[0]

    def new(self, shape: Shape, dtype: np.dtype[Any] = F32) -> SSAValue:
        """A new value: an argument or a constant."""
        array = self.array(shape, dtype)
        return self.constant(array) if self.chance(0.5) else self.argument(array)

    def pick(
        self,
        wanted: Callable[[SSAValue], bool],
        shape: Shape,
        dtype: np.dtype[Any] = F32,
    ) -> SSAValue:
        """A value that is wanted, mostly a late one; else a new one of the shape."""
        found = [value for value in self.values if wanted(value)]
        if not found or self.chance(0.1):
            return self.argument(self.array(shape, dtype))
        return found[-1] if self.chance(0.5) else self.one_of(found)

    def tensor(
        self, rank: int | None = None, dtype: np.dtype[Any] | None = None
    ) -> SSAValue:
        """A value of a rank and an element type, or of any."""
        wanted = self.dtype() if dtype is None else dtype
        new_rank = self.integer(0, 4) if rank is None else rank

        def fits(value: SSAValue) -> bool:
            right_rank = rank is None or len(shape_of(value)) == rank
            return right_rank and dtype_in(value) == wanted

        return self.pick(fits, self.shape(new_rank), wanted)

    def node(
        self,
        op_class: type[NodeOp],
        *operands: SSAValue,
        result: tuple[Shape, np.dtype[Any]] | None = None,
        **attributes: AttributeValue,
    ) -> SSAValue:
        """The first result of a new node."""
        types = None
        if result is not None:
            types = [tensor_type(result[0], element_type_of(result[1]))]
        op = op_class.build_node(operands, types, **attributes)  # pyright: ignore[reportArgumentType]
        try:
            op.verify_()
        except VerifyException:
            op.erase()
            raise
        self.block.add_op(op)
        self.values.extend(op.results)
        return op.results[0]

    def finish(self) -> ModuleOp:
        """The module; it returns what nothing reads, and a few other values."""
        results = [value for value in self.values if not value.uses or self.chance(0.1)]
        self.block.add_op(ReturnOp(*results))
        function = cast(FuncOp, self.module.body.block.first_op)
        function.update_function_type()
        self.module.verify()
        return self.module


def dtype_in(value: SSAValue) -> np.dtype[Any]:
    """The element type of a value."""
    return dtype_of(cast("TensorType[Attribute]", value.type).element_type)


Step = Callable[[GraphMaker], object]


def random_graph(
    seed: int, steps: Sequence[Step], length: int | None = None
) -> tuple[ModuleOp, list[Array]]:
    """The graph of a seed, of random steps, and its inputs."""
    maker = GraphMaker(seed)
    for _ in range(maker.integer(2, 8) if length is None else length):
        step: Step = maker.one_of(steps)
        try:
            step(maker)
        except VerifyException:
            continue  # operands that do not fit, such as a window larger than its image
    if not maker.values:
        maker.argument(maker.array((2, 3)))
    return maker.finish(), maker.inputs
