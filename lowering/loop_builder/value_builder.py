"""Arithmetic on scalars and n-D vectors for the loops-level builder."""

from collections.abc import Mapping, Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.vector import ContractOp, ShapeCastOp
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import IndexBuilder

_NO_OVERFLOW = {"overflowFlags": arith.IntegerOverflowAttr("none")}


@bounded_cache
def _comparison_properties(predicate: str) -> Mapping[str, Attribute]:
    number = arith.CMPF_COMPARISON_OPERATIONS.index(predicate)
    return {"predicate": IntegerAttr(number, i64), "fastmath": types.fast_math()}


class ValueBuilder(IndexBuilder):
    """Element-wise arithmetic and vector reshuffling."""

    def unary(
        self, operation: type[Operation], a: SSAValue, fast_math: tuple[str, ...] = ()
    ) -> SSAValue:
        """A float arith or math operation of one operand (math.sqrt, arith.negf, ...)."""
        properties = {"fastmath": types.fast_math(fast_math)}
        return self.value(operation, (a,), a.type, properties)

    def binary(
        self,
        operation: type[Operation],
        a: SSAValue,
        b: SSAValue,
        fast_math: tuple[str, ...] = (),
    ) -> SSAValue:
        """A float arith or math operation of two operands."""
        properties = {"fastmath": types.fast_math(fast_math)}
        return self.value(operation, (a, b), a.type, properties)

    def binary_integer(
        self, operation: type[Operation], a: SSAValue, b: SSAValue
    ) -> SSAValue:
        """An integer arith operation of two operands."""
        wraps = operation in (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)
        return self.value(operation, (a, b), a.type, _NO_OVERFLOW if wraps else None)

    def addf(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum."""
        return self.binary(arith.AddfOp, a, b)

    def add_values(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum of floats or integers."""
        if isinstance(types.element_of(a), IntegerType):
            return self.binary_integer(arith.AddiOp, a, b)
        return self.addf(a, b)

    def subf(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The difference."""
        return self.binary(arith.SubfOp, a, b)

    def mulf(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The product."""
        return self.binary(arith.MulfOp, a, b)

    def divf(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The quotient."""
        return self.binary(arith.DivfOp, a, b)

    def maximumf(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The larger; NaN if either is NaN."""
        return self.binary(arith.MaximumfOp, a, b)

    def larger(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The larger, either of two zeros, which takes half the instructions on x86."""
        return self.binary(arith.MaximumfOp, a, b, ("nsz",))

    def fma(self, a: SSAValue, b: SSAValue, accumulator: SSAValue) -> SSAValue:
        """The sum a * b + accumulator, fused where the target can (else LLVM calls libm)."""
        if self.target.fma_instruction and types.is_vector(accumulator.type):
            return self.value(vector.FMAOp, (a, b, accumulator), accumulator.type)
        return self.addf(self.mulf(a, b), accumulator)

    def cmpf(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """The i1 (vector) of a float comparison ("oeq", "olt", "uno", ...)."""
        return self.value(
            arith.CmpfOp,
            (a, b),
            types.with_element(a.type, i1),
            _comparison_properties(predicate),
        )

    def cast(
        self, operation: type[Operation], a: SSAValue, element: Attribute
    ) -> SSAValue:
        """A conversion of each element (arith.sitofp, extf, truncf, fptosi, ...)."""
        return self.value(operation, (a,), types.with_element(a.type, element))

    def bitcast(self, a: SSAValue, element: Attribute) -> SSAValue:
        """The same bits as elements of another type, the last dimension rescaled."""
        type_ = a.type
        if not types.is_vector(type_):
            return self.value(arith.BitcastOp, (a,), element)
        *outer, last = type_.get_shape()
        last = last * types.bit_width(type_.element_type) // types.bit_width(element)
        return self.value(
            vector.BitcastOp, (a,), types.vector_type((*outer, last), element)
        )

    def shape_cast(self, a: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """The same elements in row-major order under another shape."""
        result = types.vector_type(shape, types.element_of(a))
        return self.value(ShapeCastOp, (a,), result)

    def broadcast(self, a: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """A scalar or vector repeated along leading dimensions and dimensions of size 1."""
        if types.shape_of(a) == shape:
            return a
        result = types.vector_type(shape, types.element_of(a))
        return self.value(vector.BroadcastOp, (a,), result)

    def extract(self, a: SSAValue, *position: int) -> SSAValue:
        """The sub-vector or element at a static position of the leading dimensions."""
        shape = types.shape_of(a)[len(position) :]
        element = types.element_of(a)
        result = types.vector_type(shape, element) if shape else element
        properties = {"static_position": types.int64_array(position)}
        return self.value(vector.ExtractOp, (a,), result, properties)

    def insert(self, a: SSAValue, into: SSAValue, *position: int) -> SSAValue:
        """`into` with a sub-vector or element replaced at a static position."""
        properties = {"static_position": types.int64_array(position)}
        return self.value(vector.InsertOp, (a, into), into.type, properties)

    def shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        """The slices of a then b that the mask numbers, along the leading dimension."""
        shape = (len(mask), *types.shape_of(a)[1:])
        result = types.vector_type(shape, types.element_of(a))
        properties = {"mask": types.int64_array(tuple(mask))}
        return self.value(vector.ShuffleOp, (a, b), result, properties)

    def contract(self, a: SSAValue, b: SSAValue, accumulator: SSAValue) -> SSAValue:
        """accumulator[m, n, l] + the sum over k of a[m, k] * b[n, l, k].

        With few k and operands extended from a narrow type it is one instruction a register,
        where the target has one (`loops_to_llvm/contract.py`).
        """
        properties = types.contraction()
        return self.value(ContractOp, (a, b, accumulator), accumulator.type, properties)

    def contract_lanes(
        self, a: SSAValue, b: SSAValue, accumulator: SSAValue
    ) -> SSAValue:
        """accumulator[m, l] + the sum over k of a[m, k, l] * b[l, k]: as `contract`, with
        factors of its own for each lane.
        """
        properties = types.lane_contraction()
        return self.value(ContractOp, (a, b, accumulator), accumulator.type, properties)

    def reduction(
        self, kind: str, a: SSAValue, fast_math: tuple[str, ...] = ()
    ) -> SSAValue:
        """The scalar reduction of a 1-D vector ("add", "mul", "maximumf", "minsi", ...)."""
        properties: dict[str, Attribute] = {
            "kind": CombiningKindAttr(CombiningKindFlag(kind)),
            "fastmath": types.fast_math(fast_math),
        }
        return self.value(vector.ReductionOp, (a,), types.element_of(a), properties)
