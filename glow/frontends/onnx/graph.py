"""The function under construction: where imported nodes and their constants go."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import NameLoc, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import GENERATOR
from glow.dialects.glow import AddOp, ConstantOp, SaveOp, SplatOp, VariableOp
from glow.dialects.glow.training.layers import SEED
from glow.dialects.locations import weight_location
from glow.dialects.nibbles import pack_nibbles
from glow.dialects.node import NodeOp, Types, named_location, tensor_type
from glow.dialects.quant import CastOp
from glow.dialects.quantized import is_packed
from glow.dialects.weight_table import Array, WeightTable, element_type_of
from glow.dialects.weights import new_constant, numpy_to_dense
from glow.runtime.memory import check_memory

BUDGET = 2**24
"""The largest number of elements that is computed at import."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.$]+")
_NUMBER = re.compile(r"_(\d+)$")
"""What xDSL takes off names to number them anew."""


def sanitized(name: str | bytes) -> str:
    """A name as MLIR symbols and values allow it: `gpu_0/conv1` becomes `gpu_0_conv1`."""
    if isinstance(name, bytes):
        raise GlowError(f"the name {name} is no text")
    clean = _NOT_IN_NAMES.sub("_", name) or "value"
    name = f"_{clean}" if clean[0].isdigit() else clean
    # xDSL takes a number at the end off, which leaves nothing of `_12`.
    return name if SSAValue.extract_valid_name(name) else f"value{name}"


def value_name(name: str) -> str:
    """A hint for a computed value that keeps the number at the end: `12` becomes `value.12`.

    Profiles name values by their hints, which must mean the same in every graph.
    """
    return _NUMBER.sub(r".\1", sanitized(name))


@dataclass(eq=False)
class Constant:
    """A tensor that is known at import; it joins the program where a node reads it."""

    array: Array
    name: str
    value: SSAValue | None = None
    is_weight: bool = False
    """Whether it is an initializer of the model, perhaps in another shape."""


class Graph:
    """A block that grows by nodes, and the weight table that its constants fill."""

    computes = False
    """Whether all of its nodes are computed as they are added."""

    def __init__(self, block: Block, table: WeightTable) -> None:
        self.block = block
        self.entry = block
        """The block of constants, which is around all others."""
        self.table = table
        self.location: NameLoc | None = None
        """The location of the ONNX node that is being imported."""
        self.training = False
        """Whether nodes stay that do something in training only: dropout."""
        self.assumes_fixed_shapes = False
        """Whether values of a loop's body have one form in all iterations: slices whose place
        is data do not leave their axis, and one number has the larger rank of two branches.
        """
        self.generators: dict[str, SSAValue] = {}
        """What was the state of generators of random numbers before the call, by their names."""
        self.answers: Callable[[SSAValue], Array | None] | None = None
        """Arrays of results of the node that is being imported, where they are known."""

    def array_of(self, value: SSAValue) -> Array | None:
        """The array of a value of the program that is known nevertheless."""
        return self.answers(value) if self.answers else None

    def generator(self, seed: int | None) -> SSAValue:
        """The state of a generator of random numbers, of a node with a seed or without one."""
        name = GENERATOR if seed is None else f"{GENERATOR}.{seed}"
        if name not in self.generators:
            initial = numpy_to_dense(np.array([seed or 0, 0], np.int64))
            read = VariableOp.of(name, SEED, initial)
            self.append(read)
            self.generators[name] = read.result
        return self.generators[name]

    def save_generators(self) -> None:
        """Let the next call draw other numbers."""
        for name, state in self.generators.items():
            following = self.add(
                AddOp, [state, Constant(np.array([0, 1], np.int64), "next_call")]
            )
            self.append(SaveOp.of(following.results[0], name))

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Let nodes go into another block, one of an operation that comes next."""
        outer, location = self.block, self.location
        self.block = block
        try:
            yield
        except BaseException:
            for op in list(block.walk()):  # Which nobody is going to place.
                op.drop_all_references()
            raise
        finally:
            self.block, self.location = outer, location

    def set_node(self, name: str) -> None:
        """Give the nodes that are added from now on the name of their ONNX node."""
        self.location = named_location(name)

    def add(
        self,
        op_class: type[NodeOp],
        operands: Sequence[SSAValue | Constant],
        result_types: Types | None = None,
        **attributes: AttributeValue,
    ) -> NodeOp:
        """Append a node; result types are inferred unless given."""
        op = self.build(op_class, operands, result_types, **attributes)
        self.place(op)
        return op

    def build(
        self,
        op_class: type[NodeOp],
        operands: Sequence[SSAValue | Constant],
        result_types: Types | None = None,
        **attributes: AttributeValue,
    ) -> NodeOp:
        """A node that is not in the graph yet; VerifyException for given types."""
        op = op_class.build_node(
            [self.value_of(operand) for operand in operands],
            result_types,
            regions=(),
            predicate=None,
            **attributes,
        )
        if result_types is not None:
            op.verify_()
        return op

    def value_of(self, value: SSAValue | Constant) -> SSAValue:
        """The program's value; a constant's operation is made at its first use."""
        if isinstance(value, SSAValue):
            return value
        if value.value is None:
            op = self._constant_op(value)
            self._append(op, self.entry)
            if value.is_weight:
                op.location = weight_location(value.name)
            value.value = op.result
        return value.value

    def cast(
        self,
        op_class: type[CastOp],
        value: SSAValue | Constant,
        result_type: TensorType[Attribute],
    ) -> SSAValue:
        """Append a cast of the `quant` dialect, and return its result."""
        op = op_class.create(
            operands=[self.value_of(value)], result_types=[result_type]
        )
        op.verify_()
        self._append(op)
        return op.result

    def quantized_constant(
        self, constant: Constant, result_type: TensorType[Attribute]
    ) -> SSAValue:
        """A constant whose integers are stored values of quantized elements."""
        name, stored = sanitized(constant.name), constant.array
        held = pack_nibbles(stored) if is_packed(result_type) else stored
        made = new_constant(self.table, dense(held), name)
        assert isinstance(made, ConstantOp)
        op = ConstantOp.build_node([], [result_type], value=made.value)
        op.result.name_hint = name
        self._append(op, self.entry)
        return op.result

    def place(self, op: NodeOp) -> None:
        """Append a node that was built."""
        self._append(op)

    def append(self, op: Operation) -> None:
        """Append an operation that is no node."""
        self._append(op)

    def _append(self, op: Operation, block: Block | None = None) -> None:
        if self.location is not None:
            op.location = self.location
        (self.block if block is None else block).add_op(op)

    def _constant_op(self, constant: Constant) -> ConstantOp | SplatOp:
        array, name = constant.array, sanitized(constant.name)
        if is_splat(array):
            splat_type = tensor_type(array.shape, element_type_of(array.dtype))
            number = array.item(0) if array.size else 0
            op = SplatOp.from_number(number, splat_type)
        else:
            op = new_constant(self.table, dense(array), name)
        op.result.name_hint = name
        return op


def dense(array: Array) -> Array:
    """The array with its elements in order; NumPy's own function adds scalars an axis.

    Raises GlowError where a view of few numbers would exceed the memory there is.
    """
    check_memory({"a constant": array.nbytes})
    return np.ascontiguousarray(array).reshape(array.shape)


def is_splat(array: Array) -> bool:
    """Whether one number in memory stands for all elements (without comparing them).

    Empty tensors are splats too; booleans are not, for want of a spelling.
    """
    if array.dtype == np.bool_:
        return False
    return array.size <= 1 or not any(array.strides)
