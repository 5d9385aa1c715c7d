// RUN: glow-opt --convert-gemm --free-unused-weights %s | filecheck %s

// CHECK-LABEL: func.func @transposed_weights(
// CHECK-NEXT: %c = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00, 5.000000e+00], [2.000000e+00, 4.000000e+00, 6.000000e+00]]> : tensor<2x3xf32>
// CHECK-NEXT: %y = glow.fully_connected %x, %0, %c : tensor<1x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x3xf32>
func.func @transposed_weights(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %c = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = glow.gemm %x, %w, %c transpose_rhs : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}

// CHECK-LABEL: func.func @factors(
// CHECK-NEXT: %0 = glow.constant dense<3.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %1 = glow.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00], [6.000000e+00, 8.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %2 = glow.transpose %x permutation [1, 0] : tensor<1x2xf32>
// CHECK-NEXT: %y = glow.fully_connected %2, %1, %0 : tensor<1x2xf32>
// CHECK-NEXT: func.return %y : tensor<1x2xf32>
func.func @factors(%x: tensor<2x1xf32>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = glow.constant dense<1.0> : tensor<1xf32>
  %y = glow.gemm %x, %w, %c alpha 2.0 beta 3.0 transpose_lhs : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK-NEXT: %w = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %y = glow.fully_connected %x, %w : tensor<1x2xf32>
// CHECK-NEXT: func.return %y : tensor<1x2xf32>
func.func @matmul(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = glow.matmul %x, %w : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @batched_matmul(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %y = glow.matmul %x, %0 : tensor<4x1x2xf32>
// CHECK-NEXT: func.return %y : tensor<4x1x2xf32>
func.func @batched_matmul(%x: tensor<4x1x2xf32>) -> tensor<4x1x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = glow.matmul %x, %w transpose_rhs : tensor<4x1x2xf32>
  func.return %y : tensor<4x1x2xf32>
}

// Computed weights, and an addend that differs between rows, stay.
// CHECK-LABEL: func.func @negative(
// CHECK-NEXT: %v = glow.splat 1.000000e+00 : tensor<2x2xf32>
// CHECK-NEXT: %y = glow.gemm %x, %w : tensor<2x2xf32>
// CHECK-NEXT: %z = glow.gemm %y, %v, %w : tensor<2x2xf32>
// CHECK-NEXT: func.return %z : tensor<2x2xf32>
func.func @negative(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %v = glow.splat 1.0 : tensor<2x2xf32>
  %y = glow.gemm %x, %w : tensor<2x2xf32>
  %z = glow.gemm %y, %v, %w : tensor<2x2xf32>
  func.return %z : tensor<2x2xf32>
}
