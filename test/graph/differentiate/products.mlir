// RUN: glow-opt --split-input-file --differentiate='wrt=x,w' %s | filecheck %s

// Gradients of products are products; one matrix for a whole batch gets the sum by one of them.

// CHECK-LABEL: func.func @matmul(
// CHECK:      %x.grad = glow.matmul %e, %w transpose_rhs : tensor<2x3x4xf32>
// CHECK-NEXT: %0 = glow.reshape %x : tensor<6x4xf32>
// CHECK-NEXT: %1 = glow.reshape %e : tensor<6x5xf32>
// CHECK-NEXT: %w.grad = glow.matmul %0, %1 transpose_lhs : tensor<4x5xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad : tensor<f32>, tensor<2x3x4xf32>, tensor<4x5xf32>
func.func @matmul(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<f32> {
  %y = glow.matmul %x, %w : tensor<2x3x5xf32>
  %e = glow.exp %y : tensor<2x3x5xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @layer(
// CHECK:      %0 = glow.splat 0.0416666679 : tensor<8x3xf32>
// CHECK-NEXT: %1 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %2 = glow.less_equal %y, %1 : tensor<8x3xi1>
// CHECK-NEXT: %3 = glow.select %2, %1, %0 : tensor<8x3xf32>
// CHECK-NEXT: %x.grad = glow.matmul %3, %w transpose_rhs : tensor<8x4xf32>
// CHECK-NEXT: %w.grad = glow.matmul %x, %3 transpose_lhs : tensor<4x3xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad : tensor<f32>, tensor<8x4xf32>, tensor<4x3xf32>
func.func @layer(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<f32> {
  %b = glow.variable @bias : tensor<3xf32>
  %y = glow.fully_connected %x, %w, %b activation "relu" : tensor<8x3xf32>
  %loss = glow.reduce_mean %y axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @gemm(
// CHECK:      %y = glow.gemm %x, %w, %b alpha 5.000000e-01 transpose_rhs : tensor<8x3xf32>
// CHECK:      %0 = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %e, %0 : tensor<8x3xf32>
// CHECK-NEXT: %x.grad = glow.matmul %1, %w : tensor<8x4xf32>
// CHECK-NEXT: %w.grad = glow.matmul %1, %x transpose_lhs : tensor<3x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad : tensor<f32>, tensor<8x4xf32>, tensor<3x4xf32>
func.func @gemm(%x: tensor<8x4xf32>, %w: tensor<3x4xf32>) -> tensor<f32> {
  %b = glow.variable @bias : tensor<3xf32>
  %y = glow.gemm %x, %w, %b transpose_rhs alpha 0.5 : tensor<8x3xf32>
  %e = glow.exp %y : tensor<8x3xf32>
  %loss = glow.reduce_sum %e axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
