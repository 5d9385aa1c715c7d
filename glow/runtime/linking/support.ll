; Functions that LLVM calls for conversions that a CPU has no instruction for.
;
; Compilers bring them in a run-time library that a Python process need not have; half
; precision needs none of them on any CPU with F16C, bfloat16 one on most. A float is
; rounded to the nearest, ties to even; a NaN stays one, and quiet.

define bfloat @__truncsfbf2(float %x) nounwind {
  ; A sum with -0 makes a signaling NaN quiet, and changes nothing else.
  %single = fadd float %x, -0.0
  %narrow = call bfloat @round_to_bfloat(float %single)
  ret bfloat %narrow
}

define bfloat @__truncdfbf2(double %x) nounwind {
  %single = fptrunc double %x to float
  %narrow = call bfloat @round_to_bfloat(float %single)
  ret bfloat %narrow
}

define private bfloat @round_to_bfloat(float %single) nounwind {
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
}
