"""Element-wise work as data: a block of scalar arith and math operations.

The same region is the body of a fused element-wise kernel and the epilogue of a convolution or
a matmul: `instantiate` re-creates it on scalars, on `vector<64xf32>` or on a register tile
`vector<14x2x16xf32>`; only the types change, and what `scalar_operations` writes in
another way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.small_types import is_small
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.loop_builder.math_expansions import EXPANSIONS
from glow.lowering.loop_builder.scalar_operations import (
    instantiate_operation,
    is_cast_of_sign,
)
from glow.lowering.loop_builder.value_builder import ValueBuilder
from glow.lowering.target.target import PRESETS

BodyFunction = Callable[..., SSAValue | Sequence[SSAValue]]
"""Takes a `RegionBuilder` and the scalar inputs; returns the scalar results."""


class RegionBuilder(ValueBuilder):
    """Writes a scalar block with the same methods that kernels are written with."""

    def __init__(self, input_types: Sequence[Attribute]) -> None:
        super().__init__(PRESETS["scalar"])
        self._block = self.block = Block(arg_types=input_types)

    def constant(self, value: float, type_: Attribute = types.INDEX) -> SSAValue:
        """A constant in place, so that the block is whole by itself."""
        attribute = types.constant_attribute(value, type_)
        return self.value(arith.ConstantOp, (), type_, {"value": attribute})

    def fma(self, a: SSAValue, b: SSAValue, accumulator: SSAValue) -> SSAValue:
        """A * b + accumulator, fused where the kernel's target can."""
        properties = {"fastmath": types.fast_math()}
        return self.value(math.FmaOp, (a, b, accumulator), a.type, properties)


class ScalarRegion:
    """A scalar function: a block whose last operation's operands are its results.

    Two regions are equal when their canonical texts (`key`) are, so that kernels with equal
    regions are shared. The block must not change once it is wrapped.
    """

    def __init__(self, block: Block) -> None:
        last = block.last_op
        if last is None:
            raise ValueError(
                "a scalar region ends in an operation that yields its results"
            )
        self.block = block
        self.results = tuple(last.operands)

    @staticmethod
    def trace(function: BodyFunction, input_types: Sequence[Attribute]) -> ScalarRegion:
        """The region of what `function(builder, *inputs)` does on scalars."""
        builder = RegionBuilder(input_types)
        results = function(builder, *builder.block.args)
        results = (results,) if isinstance(results, SSAValue) else tuple(results)
        builder.create(_YieldOp, results)
        return ScalarRegion(builder.block)

    @property
    def input_types(self) -> tuple[Attribute, ...]:
        """The scalar types of the inputs."""
        return tuple(map(types.signless, self.block.arg_types))

    @property
    def result_types(self) -> tuple[Attribute, ...]:
        """The scalar types of the results."""
        return tuple(types.signless(result.type) for result in self.results)

    @cached_property
    def key(self) -> str:
        """The region as canonical text, independent of names and locations."""
        return self.text()

    def text(self, without: Container[Operation] = ()) -> str:
        """The region as canonical text, without what some constants are."""
        numbers: dict[SSAValue, int] = {}
        for argument in self.block.args:
            numbers[argument] = len(numbers)
        # Bytes are read in another way for each type of storage.
        taken = [
            a.type if is_small(a.type) else types.signless(a.type)
            for a in self.block.args
        ]
        lines = [", ".join(map(_spelled, taken))]
        for operation in self.block.ops:
            operands = ", ".join(str(numbers[value]) for value in operation.operands)
            properties = "" if operation in without else _properties_text(operation)
            name = "yield" if operation is self.block.last_op else operation.name
            result_types = ", ".join(map(_spelled, operation.result_types))
            lines.append(f"{name}({operands}) {{{properties}}} : {result_types}")
            for result in operation.results:
                numbers[result] = len(numbers)
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScalarRegion) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"ScalarRegion({self.key!r})"

    def instantiate(
        self, builder: LoopBuilder, values: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The results on scalars or on vectors of any one shape."""
        shape = types.shape_of(values[0]) if values else ()
        return self.instantiate_at(builder, values, shape)

    def instantiate_at(
        self, builder: LoopBuilder, values: Sequence[SSAValue], shape: tuple[int, ...]
    ) -> list[SSAValue]:
        """The results on vectors of that shape, for regions that may have no input."""
        known: dict[SSAValue, SSAValue] = dict(
            zip(self.block.args, values, strict=True)
        )
        for operation in self.block.ops:
            if operation is not self.block.last_op:
                instantiate_operation(builder, operation, known, shape)
        return [known[result] for result in self.results]


LONG_EPILOGUE = 12


@dataclass(frozen=True)
class RegionEpilogue:
    """A region as the epilogue of a kernel: its first input is the accumulator."""

    region: ScalarRegion
    operand_layouts: tuple[OperandLayout, ...] = ()

    @property
    def operand_elements(self) -> tuple[Attribute, ...]:
        """The element types of the inputs after the accumulator."""
        return self.region.input_types[1:]

    @property
    def result_element(self) -> Attribute:
        """The element type of the one result."""
        return self.region.result_types[0]

    @property
    def is_long(self) -> bool:
        """Whether it has many operations, or a function, which is written out."""
        operations = [op for op in self.region.block.ops if not is_cast_of_sign(op)]
        expanded = any(type(op) in EXPANSIONS for op in operations)
        return expanded or len(operations) > LONG_EPILOGUE

    def apply(
        self,
        builder: LoopBuilder,
        accumulator: SSAValue,
        epilogue_operands: Sequence[SSAValue],
    ) -> SSAValue:
        """The value to store."""
        (result,) = self.region.instantiate(builder, [accumulator, *epilogue_operands])
        return result


class _YieldOp(Operation):
    """Ends a traced block; wrapped blocks may end in any operation with operands."""

    name = "scalar.yield"


def _properties_text(operation: Operation) -> str:
    return ", ".join(
        f"{name} = {_attribute_text(attribute)}"
        for name, attribute in sorted(operation.properties.items())
    )


def _attribute_text(attribute: Attribute) -> str:
    if isinstance(attribute, FloatAttr):
        return f"{attribute.value.data!r} : {_spelled(attribute.parameters[1])}"
    return _spelled(attribute)


@bounded_cache
def _spelled(attribute: Attribute) -> str:
    """The text of an attribute, which few recur of."""
    return str(attribute)
