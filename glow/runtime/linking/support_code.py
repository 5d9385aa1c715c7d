"""Functions that LLVM calls for conversions that a CPU has no instruction for.

Compilers bring them in a run-time library that a Python process need not have; half
precision needs none of them on any CPU with F16C, bfloat16 one on most.
"""

from __future__ import annotations

TRUNCATE_TO_BFLOAT = """
define bfloat @__trunc{kind}fbf2({type} %x) nounwind {{
  %single = {to_single}
  %bits = bitcast float %single to i32
  %shifted = lshr i32 %bits, 16
  %odd = and i32 %shifted, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %nan = fcmp uno float %single, 0.0
  %quiet = or i32 %bits, 4194304
  %chosen = select i1 %nan, i32 %quiet, i32 %sum
  %high = lshr i32 %chosen, 16
  %narrow = trunc i32 %high to i16
  %result = bitcast i16 %narrow to bfloat
  ret bfloat %result
}}
"""

SUPPORT_SYMBOLS = ("__truncsfbf2", "__truncdfbf2")

SUPPORT_CODE = TRUNCATE_TO_BFLOAT.format(
    kind="s", type="float", to_single="fadd float %x, -0.0"
) + TRUNCATE_TO_BFLOAT.format(
    kind="d", type="double", to_single="fptrunc double %x to float"
)


def needs_support(image: bytes) -> bool:
    """Whether an object calls one of the support functions."""
    return any(symbol.encode() in image for symbol in SUPPORT_SYMBOLS)
