; What neither a CPU without floats nor the runtime of C compilers has, from the bits of f32.

; The square root, rounded to nearest: one bit of it at a time, as on paper. The mantissa is taken
; with an even exponent; the root has 24 bits and one to round by, and the rest says whether the
; exact root has more.
define internal float @glow_sqrt_f32(float %x) noinline nounwind {
  %bits = bitcast float %x to i32
  %size = shl i32 %bits, 1
  %zero = icmp eq i32 %size, 0
  br i1 %zero, label %itself, label %signs
signs:
  %unusual = icmp uge i32 %bits, u0x7F800000 ; Infinity, NaN and all negative numbers.
  br i1 %unusual, label %edge, label %normal
edge:
  %infinite = icmp eq i32 %bits, u0x7F800000
  %nothing = select i1 %infinite, float %x, float 0x7FF8000000000000
  ret float %nothing
itself:
  ret float %x
normal:
  %tiny = icmp ult i32 %bits, u0x00800000
  %raised = fmul float %x, 16777216.0 ; 2^24
  %usual = select i1 %tiny, float %raised, float %x
  %moved = select i1 %tiny, i32 12, i32 0
  %number = bitcast float %usual to i32
  %field = lshr i32 %number, 23
  %fraction = and i32 %number, u0x007FFFFF
  %mantissa = or i32 %fraction, u0x00800000
  %exponent = sub i32 %field, 127
  %odd = and i32 %exponent, 1
  %even = shl i32 %mantissa, %odd
  %half = ashr i32 %exponent, 1
  br label %step
step:
  %rest = phi i32 [ 0, %normal ], [ %rest.next, %step ]
  %left = phi i32 [ %even, %normal ], [ %left.next, %step ]
  %root = phi i32 [ 0, %normal ], [ %root.next, %step ]
  %turn = phi i32 [ 0, %normal ], [ %turn.next, %step ]
  %pair = lshr i32 %left, 23
  %two = and i32 %pair, 3
  %left.next = shl i32 %left, 2
  %rest.moved = shl i32 %rest, 2
  %rest.full = or i32 %rest.moved, %two
  %root.moved = shl i32 %root, 2
  %trial = or i32 %root.moved, 1
  %fits = icmp uge i32 %rest.full, %trial
  %lowered = sub i32 %rest.full, %trial
  %rest.next = select i1 %fits, i32 %lowered, i32 %rest.full
  %bit = zext i1 %fits to i32
  %root.twice = shl i32 %root, 1
  %root.next = or i32 %root.twice, %bit
  %turn.next = add i32 %turn, 1
  %done = icmp eq i32 %turn.next, 25
  br i1 %done, label %round, label %step
round:
  ; A root of 25 bits is never a tie: its square would have 49.
  %up = and i32 %root.next, 1
  %whole = lshr i32 %root.next, 1
  %near = add i32 %whole, %up
  %place = sub i32 %half, %moved
  %biased = add i32 %place, 126
  %high = shl i32 %biased, 23
  %result = add i32 %high, %near
  %float = bitcast i32 %result to float
  ret float %float
}

; The larger number: NaN where one is, and 0 before -0.
define internal float @glow_maximum_f32(float %x, float %y) noinline nounwind {
  %larger = fcmp ogt float %x, %y
  %chosen = select i1 %larger, float %x, float %y
  %equal = fcmp oeq float %x, %y
  %bits.x = bitcast float %x to i32
  %bits.y = bitcast float %y to i32
  %both = and i32 %bits.x, %bits.y
  %same = bitcast i32 %both to float
  %known = select i1 %equal, float %same, float %chosen
  %unordered = fcmp uno float %x, %y
  %nothing = fadd float %x, %y
  %result = select i1 %unordered, float %nothing, float %known
  ret float %result
}

; The smaller number: NaN where one is, and -0 before 0.
define internal float @glow_minimum_f32(float %x, float %y) noinline nounwind {
  %smaller = fcmp olt float %x, %y
  %chosen = select i1 %smaller, float %x, float %y
  %equal = fcmp oeq float %x, %y
  %bits.x = bitcast float %x to i32
  %bits.y = bitcast float %y to i32
  %both = or i32 %bits.x, %bits.y
  %same = bitcast i32 %both to float
  %known = select i1 %equal, float %same, float %chosen
  %unordered = fcmp uno float %x, %y
  %nothing = fadd float %x, %y
  %result = select i1 %unordered, float %nothing, float %known
  ret float %result
}
