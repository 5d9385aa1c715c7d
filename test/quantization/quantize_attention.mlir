// RUN: glow-opt --quantize='attention=int8 activations=static' %s 2>/dev/null | filecheck %s
// RUN: glow-opt --quantize='attention=int8 activations=static precision=int16' %s 2>/dev/null | filecheck %s --check-prefix=WIDE
// RUN: glow-opt --quantize='activations=static' %s 2>/dev/null | filecheck %s --check-prefix=FLOAT
// RUN: glow-opt --quantize='attention=int8 keep=c' %s 2>/dev/null | filecheck %s --check-prefix=KEEP
// RUN: glow-opt --quantize='attention=int8 activations=per-row' %s | filecheck %s --check-prefix=FLOAT
// RUN: not glow-opt --quantize='attention=int4' %s 2>&1 | filecheck %s --check-prefix=WRONG

// Casts move up through the transposition, and the softmax gives shares of 1. Scores stay
// float, and so does what the network returns.
// CHECK:      %[[X:.*]] = quant.qcast %x : tensor<1x3x2x4xf32> to tensor<1x3x2x4x!quant.uniform<u8:f32, [[S:.*]]>>
// CHECK-NEXT: %q = glow.transpose %[[X]] permutation [0, 2, 1, 3] : tensor<1x2x3x4x!quant.uniform<u8:f32, [[S]]>>
// CHECK-NEXT: %s = glow.matmul %q, %q transpose_rhs : tensor<1x2x3x3xf32>
// CHECK-NEXT: %p = glow.softmax %s axis 3 : tensor<1x2x3x3xf32>
// CHECK-NEXT: %[[P:.*]] = quant.qcast %p : tensor<1x2x3x3xf32> to tensor<1x2x3x3x!quant.uniform<u8:f32, 0.0039215688593685627>>
// CHECK-NEXT: %c = glow.matmul %[[P]], %q : tensor<1x2x3x4xf32>

// Sums of products of wider numbers would not fit.
// WIDE: glow.matmul %{{.*}}, %{{.*}} transpose_rhs : tensor<1x2x3x3xf32>
// WIDE: to tensor<1x2x3x3x!quant.uniform<u8:f32, 0.0039215688593685627>>

// KEEP: %c = glow.matmul %p, %{{.*}} : tensor<1x2x3x4xf32>
// FLOAT-NOT: quant.
// WRONG: unknown attention 'int4'
func.func @main(%x: tensor<1x3x2x4xf32>) -> tensor<1x2x3x4xf32> {
  %q = glow.transpose %x permutation [0, 2, 1, 3] : tensor<1x2x3x4xf32>
  %s = glow.matmul %q, %q transpose_rhs : tensor<1x2x3x3xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x3x3xf32>
  %c = glow.matmul %p, %q : tensor<1x2x3x4xf32>
  func.return %c : tensor<1x2x3x4xf32>
}
