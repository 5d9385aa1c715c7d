"""Rules for `math` and multiply-adds: OpenCL has a function for nearly all of it."""

from __future__ import annotations

from xdsl.dialects import math, vector
from xdsl.ir import Operation

from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.opencl_c.arithmetic import floats, integers, plain
from glow.lowering.opencl_c.c_types import scalar_literal, signed, type_name
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Rule

UNARY: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.RoundOp: "round",
    math.RoundEvenOp: "rint",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}

BINARY: dict[type[Operation], str] = {
    math.Atan2Op: "atan2",
    math.CopySignOp: "copysign",
    math.PowFOp: "pow",
}


def multiply_add(out: FunctionPrinter, op: Operation) -> None:
    """One operation where the target has it, else two."""
    floats("fma({0}, {1}, {2})" if out.has_fma else "{0} * {1} + {2}")(out, op)


def trailing_zeros(out: FunctionPrinter, op: math.CountTrailingZerosOp) -> None:
    """The bits below the lowest one, which OpenCL C has no name for before version 2."""
    layout = out.layout(op.result)
    one = scalar_literal(1, layout.element)
    texts: list[str] = []
    for lanes, text in zip(layout.lanes, out.registers(op.operand), strict=True):
        ones = f"({type_name(layout.element, lanes)})({one})"
        texts.append(f"popcount(~{text} & ({text} - {ones}))")
    out.define(op.result, texts)


RULES: dict[type[Operation], Rule] = {
    **{op_class: floats(f"{name}({{0}})") for op_class, name in UNARY.items()},
    **{op_class: floats(f"{name}({{0}}, {{1}})") for op_class, name in BINARY.items()},
    math.RsqrtOp: floats("1 / sqrt({0})"),
    math.AbsIOp: integers("abs({0})", signed),
    math.CountLeadingZerosOp: plain("clz({0})"),
    math.CtPopOp: plain("popcount({0})"),
    math.FmaOp: multiply_add,
    vector.FMAOp: multiply_add,
    **dict([entry(math.CountTrailingZerosOp, trailing_zeros)]),
}
