// RUN: glow-opt --eliminate-transposes %s | filecheck %s

// CHECK-LABEL: func.func @cancel_through_elementwise(
// CHECK-NEXT: %z = glow.relu %x : tensor<1x4x4x8xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x4x8xf32>
func.func @cancel_through_elementwise(%x: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %t = glow.transpose %x permutation [0, 3, 1, 2] : tensor<1x8x4x4xf32>
  %y = glow.relu %t : tensor<1x8x4x4xf32>
  %z = glow.transpose %y permutation [0, 2, 3, 1] : tensor<1x4x4x8xf32>
  func.return %z : tensor<1x4x4x8xf32>
}

// CHECK-LABEL: func.func @constants_are_permuted(
// CHECK-NEXT: %one = glow.splat 1.000000e+00 : tensor<1x1x1xf32>
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}{{\[\[}}1.000000e+00, 2.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<1x4x4x2xf32>
// CHECK-NEXT: %2 = glow.reshape %one : tensor<f32>
// CHECK-NEXT: %z = glow.add %2, %1 : tensor<1x4x4x2xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x4x2xf32>
func.func @constants_are_permuted(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %c = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %one = glow.splat 1.0 : tensor<1x1x1xf32>
  %t = glow.transpose %x permutation [0, 3, 1, 2] : tensor<1x2x4x4xf32>
  %m = glow.mul %t, %c : tensor<1x2x4x4xf32>
  %a = glow.add %one, %m : tensor<1x2x4x4xf32>
  %z = glow.transpose %a permutation [0, 2, 3, 1] : tensor<1x4x4x2xf32>
  func.return %z : tensor<1x4x4x2xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK-NEXT: %z = glow.concat %x, %y axis 3 : tensor<1x4x4x5xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x4x5xf32>
func.func @concat(%x: tensor<1x4x4x2xf32>, %y: tensor<1x4x4x3xf32>) -> tensor<1x4x4x5xf32> {
  %s = glow.transpose %x permutation [0, 3, 1, 2] : tensor<1x2x4x4xf32>
  %t = glow.transpose %y permutation [0, 3, 1, 2] : tensor<1x3x4x4xf32>
  %c = glow.concat %s, %t axis 1 : tensor<1x5x4x4xf32>
  %z = glow.transpose %c permutation [0, 2, 3, 1] : tensor<1x4x4x5xf32>
  func.return %z : tensor<1x4x4x5xf32>
}

// CHECK-LABEL: func.func @into_matmul(
// CHECK-NEXT: %z = glow.matmul %x, %y transpose_rhs : tensor<2x5x4xf32>
// CHECK-NEXT: func.return %z : tensor<2x5x4xf32>
func.func @into_matmul(%x: tensor<2x5x3xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x5x4xf32> {
  %t = glow.transpose %y permutation [0, 2, 1] : tensor<2x3x4xf32>
  %z = glow.matmul %x, %t : tensor<2x5x4xf32>
  func.return %z : tensor<2x5x4xf32>
}

// The keys of an attention: whole rows are copied now.
// CHECK-LABEL: func.func @keys(
// CHECK-NEXT: %0 = glow.transpose %k permutation [0, 2, 1, 3] : tensor<1x2x4x3xf32>
// CHECK-NEXT: %z = glow.matmul %q, %0 transpose_rhs : tensor<1x2x5x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x5x4xf32>
func.func @keys(%q: tensor<1x2x5x3xf32>, %k: tensor<1x4x2x3xf32>) -> tensor<1x2x5x4xf32> {
  %t = glow.transpose %k permutation [0, 2, 3, 1] : tensor<1x2x3x4xf32>
  %z = glow.matmul %q, %t : tensor<1x2x5x4xf32>
  func.return %z : tensor<1x2x5x4xf32>
}

// CHECK-LABEL: func.func @only_ones_move(
// CHECK-NEXT: %t = glow.reshape %x : tensor<8x1x1x1xf32>
// CHECK-NEXT: func.return %t : tensor<8x1x1x1xf32>
func.func @only_ones_move(%x: tensor<1x1x8x1xf32>) -> tensor<8x1x1x1xf32> {
  %t = glow.transpose %x permutation [2, 0, 1, 3] : tensor<8x1x1x1xf32>
  func.return %t : tensor<8x1x1x1xf32>
}
