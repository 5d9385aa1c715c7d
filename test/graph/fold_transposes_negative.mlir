// RUN: glow-opt --fold-transposes %s | filecheck %s

// Another reader; computed weights; channels that move; rows that mix.
// CHECK-LABEL: func.func @keep(
// CHECK-NEXT: %c = glow.splat 2.000000e+00 : tensor<12x1xf32>
// CHECK-NEXT: %0 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
// CHECK-NEXT: %1 = glow.reduce_sum %0 axes [2] : tensor<4x3xf32>
// CHECK-NEXT: %2 = glow.transpose %x permutation [0, 2, 1] : tensor<2x4x3xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<2x12xf32>
// CHECK-NEXT: %4 = glow.fully_connected %3, %w : tensor<2x1xf32>
// CHECK-NEXT: %5 = glow.transpose %x permutation [2, 0, 1] : tensor<4x2x3xf32>
// CHECK-NEXT: %6 = glow.batch_norm %5, %p, %p, %p, %p : tensor<4x2x3xf32>
// CHECK-NEXT: %7 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
// CHECK-NEXT: %8 = glow.reshape %7 : tensor<2x12xf32>
// CHECK-NEXT: %9 = glow.fully_connected %8, %c : tensor<2x1xf32>
// CHECK-NEXT: func.return %0, %1, %4, %6, %9 : tensor<4x3x2xf32>, tensor<4x3xf32>, tensor<2x1xf32>, tensor<4x2x3xf32>, tensor<2x1xf32>
func.func @keep(%x: tensor<2x3x4xf32>, %w: tensor<12x1xf32>, %p: tensor<2xf32>) -> (tensor<4x3x2xf32>, tensor<4x3xf32>, tensor<2x1xf32>, tensor<4x2x3xf32>, tensor<2x1xf32>) {
  %c = glow.splat 2.0 : tensor<12x1xf32>
  %0 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
  %1 = glow.reduce_sum %0 axes [2] : tensor<4x3xf32>
  %2 = glow.transpose %x permutation [0, 2, 1] : tensor<2x4x3xf32>
  %3 = glow.reshape %2 : tensor<2x12xf32>
  %4 = glow.fully_connected %3, %w : tensor<2x1xf32>
  %5 = glow.transpose %x permutation [2, 0, 1] : tensor<4x2x3xf32>
  %6 = glow.batch_norm %5, %p, %p, %p, %p : tensor<4x2x3xf32>
  %7 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
  %8 = glow.reshape %7 : tensor<2x12xf32>
  %9 = glow.fully_connected %8, %c : tensor<2x1xf32>
  func.return %0, %1, %4, %6, %9 : tensor<4x3x2xf32>, tensor<4x3xf32>, tensor<2x1xf32>, tensor<4x2x3xf32>, tensor<2x1xf32>
}
