// RUN: glow-opt --split-input-file --differentiate='loss=%loss wrt=w,v' %s | filecheck %s

// The gradient of a relu passes where its result is positive; that of a repeated factor is
// summed; values that need no gradient get none.

// CHECK-LABEL: func.func @main(
// CHECK:      %0 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %1 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %2 = glow.less_equal %r, %1 : tensor<8x3xi1>
// CHECK-NEXT: %z.grad = glow.select %2, %1, %0 : tensor<8x3xf32>
// CHECK-NEXT: %y.grad = glow.matmul %z.grad, %v transpose_rhs : tensor<8x4xf32>
// CHECK-NEXT: %v.grad = glow.matmul %y, %z.grad transpose_lhs : tensor<4x3xf32>
// CHECK-NEXT: %3 = glow.mul %y.grad, %x : tensor<8x4xf32>
// CHECK-NEXT: %w.grad = glow.reduce_sum %3 axes [0] : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %w.grad, %v.grad : tensor<f32>, tensor<4xf32>, tensor<4x3xf32>
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4xf32>, %v: tensor<4x3xf32>) -> tensor<f32> {
  %y = glow.mul %x, %w : tensor<8x4xf32>
  %z = glow.matmul %y, %v : tensor<8x3xf32>
  %r = glow.relu %z : tensor<8x3xf32>
  %loss = glow.reduce_sum %r axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
