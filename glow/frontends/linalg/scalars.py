"""The bodies of element-wise operations: a node for each scalar operation that has one.

    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      %1 = arith.addf %0, %c : f32
      linalg.yield %1 : f32
  becomes
    %0 = glow.exp %x
    %1 = glow.add %0, %c

so that patterns find softmax and the like. A body with other scalar operations becomes a
`glow.fused` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i64
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.errors import GlowError
from glow.dialects.linalg import IndexOp, YieldOp
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.frontends.formulas import averages
from glow.frontends.linalg.gathers import extract
from glow.frontends.linalg.linalg_builder import LinalgBuilder

NODES: Mapping[str, type[NodeOp]] = {
    "arith.addf": glow.AddOp,
    "arith.addi": glow.AddOp,
    "arith.andi": glow.BitwiseAndOp,
    "arith.divsi": glow.DivOp,
    "arith.maximumf": glow.MaxOp,
    "arith.maxsi": glow.MaxOp,
    "arith.minimumf": glow.MinOp,
    "arith.minsi": glow.MinOp,
    "arith.mulf": glow.MulOp,
    "arith.muli": glow.MulOp,
    "arith.negf": glow.NegOp,
    "arith.ori": glow.BitwiseOrOp,
    "arith.remf": glow.FmodOp,
    "arith.remsi": glow.FmodOp,
    "arith.select": glow.SelectOp,
    "arith.subf": glow.SubOp,
    "arith.subi": glow.SubOp,
    "arith.xori": glow.BitwiseXorOp,
    "math.absf": glow.AbsOp,
    "math.absi": glow.AbsOp,
    "math.acos": glow.AcosOp,
    "math.asin": glow.AsinOp,
    "math.atan": glow.AtanOp,
    "math.ceil": glow.CeilOp,
    "math.cos": glow.CosOp,
    "math.erf": glow.ErfOp,
    "math.exp": glow.ExpOp,
    "math.floor": glow.FloorOp,
    "math.isnan": glow.IsNanOp,
    "math.log": glow.LogOp,
    "math.powf": glow.PowOp,
    "math.roundeven": glow.RoundOp,
    "math.rsqrt": glow.RsqrtOp,
    "math.sin": glow.SinOp,
    "math.sqrt": glow.SqrtOp,
    "math.tan": glow.TanOp,
    "math.tanh": glow.TanhOp,
}

OF_TRUTH: Mapping[str, type[NodeOp]] = {
    "arith.addi": glow.XorOp,
    "arith.andi": glow.AndOp,
    "arith.muli": glow.AndOp,
    "arith.ori": glow.OrOp,
    "arith.xori": glow.XorOp,
}
"""On i1."""

CASTS = (
    "arith.extf",
    "arith.extsi",
    "arith.fptosi",
    "arith.index_cast",
    "arith.sitofp",
    "arith.truncf",
    "arith.trunci",
)

OF_BITS = ("arith.extui", "arith.uitofp")
"""Casts of what has no sign: truth values only."""

COMPARED: Mapping[str, tuple[type[NodeOp], bool, bool]] = {
    "oeq": (glow.EqualOp, False, False),
    "oge": (glow.LessEqualOp, True, False),
    "ogt": (glow.LessOp, True, False),
    "ole": (glow.LessEqualOp, False, False),
    "olt": (glow.LessOp, False, False),
    "uge": (glow.LessOp, False, True),
    "ugt": (glow.LessEqualOp, False, True),
    "ule": (glow.LessOp, True, True),
    "ult": (glow.LessEqualOp, True, True),
    "une": (glow.NotEqualOp, False, False),
    "eq": (glow.EqualOp, False, False),
    "ne": (glow.NotEqualOp, False, False),
    "sge": (glow.LessEqualOp, True, False),
    "sgt": (glow.LessOp, True, False),
    "sle": (glow.LessEqualOp, False, False),
    "slt": (glow.LessOp, False, False),
}
"""The node, whether its operands are exchanged, whether its result is negated."""

FLOATS = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
INTEGERS = "eq ne slt sle sgt sge ult ule ugt uge".split()


class NoNode(Exception):
    """A scalar operation has no node."""


def predicate(op: Operation) -> str:
    """How a comparison compares; empty for anything else."""
    number = op.properties.get("predicate")
    if not isinstance(number, IntegerAttr):
        return ""
    names = FLOATS if op.name == "arith.cmpf" else INTEGERS
    return names[number.value.data]


def signed_predicate(op: Operation) -> str:
    """The same; empty as well for integers without signs, which no tensor here has."""
    how = predicate(op)
    return "" if op.name == "arith.cmpi" and how.startswith("u") else how


class Body:
    """A scalar body, whose values are tensors here."""

    def __init__(self, builder: LinalgBuilder, shape: Sequence[int]) -> None:
        """`shape` is that of the iteration."""
        self.builder = builder
        self.shape = shape
        self.values: dict[SSAValue, SSAValue] = {}

    def value(self, scalar: SSAValue) -> SSAValue:
        """The tensor of a scalar: computed before, or a constant from outside."""
        found = self.values.get(scalar)
        if found is None:
            found = self._outside(scalar)
            self.values[scalar] = found
        return found

    def _outside(self, scalar: SSAValue) -> SSAValue:
        owner = scalar.owner
        if isinstance(owner, arith.ConstantOp):
            number = self.builder.scalar(scalar)
            return self.number(number, scalar.type)
        raise GlowError("a body that reads a value that is no constant")

    def number(self, number: float, element: Attribute) -> SSAValue:
        """A number of rank 0; indices are i64, truth values constants."""
        if isinstance(element, IndexType):
            element = i64
        if element == i1:
            return self.builder.put(np.array(bool(number)))
        return self.builder.splat(number, element)

    def run(self, ops: Sequence[Operation]) -> None:
        """Make a node of each operation; NoNode where one has none."""
        for op in ops:
            if op.name == "cf.assert":
                continue
            made = self._node(op)
            self.values[op.results[0]] = made

    def _node(self, op: Operation) -> SSAValue:
        if isinstance(op, IndexOp):
            return self._position(op.integer("dim", 0))
        if isinstance(op, arith.ConstantOp):
            return self._outside(op.result)
        name, builder = op.name, self.builder
        if isinstance(op, ExtractOp):
            places = [self.value(one) for one in op.indices]
            return extract(builder, op, places, self.shape)
        operands = [self.value(one) for one in op.operands]
        if name in ("arith.cmpf", "arith.cmpi"):
            return self._compare(op, *operands)
        if name in CASTS or name in OF_BITS:
            return self._cast(op, operands[0])
        formulas = {
            "arith.divf": self._divide,
            "arith.mulf": self._multiply,
            "math.fpowi": self._power,
        }
        if name in formulas:
            return formulas[name](*operands)
        if name == "arith.select" and (found := self._rectified(op)) is not None:
            return found
        is_truth = element_of(operands[-1]) == i1 and name != "arith.select"
        table = OF_TRUTH if is_truth else NODES
        if name not in table:
            raise NoNode(name)
        return builder.node(table[name], *operands)

    def _position(self, dimension: int) -> SSAValue:
        rank = len(self.shape)
        line = np.arange(self.shape[dimension], dtype=np.int64)
        return self.builder.put(line.reshape([-1] + [1] * (rank - 1 - dimension)))

    def _compare(self, op: Operation, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        how = predicate(op)
        if how == "one":
            parts = [
                self.builder.node(glow.LessOp, *pair)
                for pair in ((lhs, rhs), (rhs, lhs))
            ]
            return self.builder.node(glow.OrOp, *parts)
        if signed_predicate(op) not in COMPARED:
            raise NoNode(how)
        node, is_swapped, is_negated = COMPARED[how]
        operands = (rhs, lhs) if is_swapped else (lhs, rhs)
        result = self.builder.node(node, *operands)
        return self.builder.node(glow.NotOp, result) if is_negated else result

    def _cast(self, op: Operation, value: SSAValue) -> SSAValue:
        target = op.results[0].type
        if isinstance(target, IndexType):
            target = i64
        if op.name in OF_BITS and element_of(value) != i1:
            raise NoNode(op.name)
        if op.name == "arith.trunci" and target == i1:
            raise NoNode(op.name)
        owner = value.owner
        if isinstance(owner, glow.SplatOp) and not shape_of(value):
            number = owner.number
            is_whole = op.name == "arith.fptosi"
            return self.number(int(number) if is_whole else number, target)
        return self.builder.convert(value, target)

    def _divide(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """A quotient; a sum by the number of its terms is a mean."""
        builder, count = self.builder, self.builder.known(rhs)
        if count is not None and count.size and _is_within(count.shape, shape_of(lhs)):
            found = averages.pool(builder, lhs, count)
            found = found or averages.mean(builder, lhs, count)
            if found is not None:
                return found
        return builder.node(glow.DivOp, lhs, rhs)

    def _multiply(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """A product; a sum times one over the number of its terms is a mean."""
        mean = averages.scaled_sum(self.builder, lhs, rhs)
        return mean or self.builder.node(glow.MulOp, lhs, rhs)

    def _power(self, base: SSAValue, exponent: SSAValue) -> SSAValue:
        """A power by a known integer."""
        number = self.builder.known_number(exponent, "the exponent of a power")
        return self.builder.node(glow.PowOp, base, self.builder.number(number, base))

    def _rectified(self, op: Operation) -> SSAValue | None:
        """ReLU, if it is `x > 0 ? x : 0` with NaN let through."""
        test, value, other = op.operands
        compared = test.owner
        zero = self.builder.known(self.value(other))
        if not isinstance(compared, Operation) or compared.name != "arith.cmpf":
            return None
        is_same = list(compared.operands) == [value, other]
        is_zero = zero is not None and zero.size == 1 and not zero.any()
        if predicate(compared) not in ("ugt", "uge") or not (is_same and is_zero):
            return None
        return self.builder.node(glow.ReluOp, self.value(value))


def _is_within(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether a tensor stays as large as it is where it meets another one."""
    return np.broadcast_shapes(tuple(shape), tuple(whole)) == tuple(whole)


def evaluate(
    builder: LinalgBuilder,
    block: Block,
    arguments: Sequence[SSAValue | None],
    shape: Sequence[int],
) -> list[SSAValue]:
    """What a body yields, of operands that are in place; None where one has no values."""
    body = Body(builder, shape)
    for argument, value in zip(block.args, arguments, strict=True):
        if value is not None:
            body.values[argument] = value
        elif argument.uses:
            raise GlowError("a body that reads a result before it has values")
    *ops, last = block.ops
    assert isinstance(last, YieldOp)
    made = len(builder.made)
    try:
        body.run(ops)
    except NoNode:
        for node in reversed(builder.made[made:]):
            node.detach()
            node.erase()
        del builder.made[made:]
        return _fused(builder, block, arguments, shape)
    return [body.value(one) for one in last.operands]


def _fused(
    builder: LinalgBuilder,
    block: Block,
    arguments: Sequence[SSAValue | None],
    shape: Sequence[int],
) -> list[SSAValue]:
    """The body as a node of its own, with the constants that it reads."""
    used = [
        (argument, value)
        for argument, value in zip(block.args, arguments, strict=True)
        if value is not None and argument.uses
    ]
    inner = Block(arg_types=[argument.type for argument, _ in used])
    mapping: dict[SSAValue, SSAValue] = {
        argument: one for (argument, _), one in zip(used, inner.args, strict=True)
    }
    *ops, last = block.ops
    for op in ops:
        if op.name == "cf.assert":
            continue
        if isinstance(op, IndexOp) or not op.name.startswith(("arith.", "math.")):
            raise GlowError(f"a body with {op.name} is not supported")
        for operand in op.operands:
            _bring_in(operand, inner, mapping)
        inner.add_op(op.clone(mapping))
    for operand in last.operands:
        _bring_in(operand, inner, mapping)
    yielded = [mapping[one] for one in last.operands]
    inner.add_op(glow.YieldOp.create(operands=yielded))
    operands = [value for _, value in used]
    types = [tensor_type(shape, one.type) for one in last.operands]
    builder.create(glow.FusedOp, operands, {}, types=types, regions=[Region(inner)])
    return list(builder.made[-1].results)


def _bring_in(
    operand: SSAValue, inner: Block, mapping: dict[SSAValue, SSAValue]
) -> None:
    """Repeat a constant from outside in the body."""
    if operand in mapping:
        return
    owner = operand.owner
    if not isinstance(owner, arith.ConstantOp):
        raise GlowError("a body that reads a value that is no constant")
    copy = owner.clone()
    inner.add_op(copy)
    mapping[operand] = copy.results[0]
