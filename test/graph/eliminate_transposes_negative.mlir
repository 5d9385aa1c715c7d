// RUN: glow-opt --eliminate-transposes %s | filecheck %s

// Other readers need the transpose, or only one operand has it.
// CHECK-LABEL: func.func @readers(
// CHECK-NEXT: %t = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
// CHECK-NEXT: %r = glow.relu %t : tensor<3x2xf32>
// CHECK-NEXT: %u = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
// CHECK-NEXT: %s = glow.add %u, %y : tensor<3x2xf32>
// CHECK-NEXT: func.return %t, %r, %s : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
func.func @readers(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %t = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
  %r = glow.relu %t : tensor<3x2xf32>
  %u = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
  %s = glow.add %u, %y : tensor<3x2xf32>
  func.return %t, %r, %s : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// The innermost axis stays: the product cannot absorb it.
// CHECK-LABEL: func.func @heads(
// CHECK-NEXT: %t = glow.transpose %q permutation [0, 2, 1, 3] : tensor<1x2x4x3xf32>
// CHECK-NEXT: %z = glow.matmul %t, %k : tensor<1x2x4x5xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x4x5xf32>
func.func @heads(%q: tensor<1x4x2x3xf32>, %k: tensor<1x2x3x5xf32>) -> tensor<1x2x4x5xf32> {
  %t = glow.transpose %q permutation [0, 2, 1, 3] : tensor<1x2x4x3xf32>
  %z = glow.matmul %t, %k : tensor<1x2x4x5xf32>
  func.return %z : tensor<1x2x4x5xf32>
}
