// RUN: glow-opt --canonicalize --fuse-activation --cse --pass-statistics %s 2>&1 >/dev/null | filecheck %s
// RUN: glow-opt --cse --fuse-activation --mlir-print-ir-after-change %s 2>&1 >/dev/null | filecheck %s --check-prefix CHANGE

// CHECK:      pass statistics: rewrites applied
// CHECK-NEXT: canonicalize: 6 -> 5 operations
// CHECK-NEXT:        1 {{[a-z_]+}}
// CHECK-NEXT: fuse-activation: 5 -> 4 operations
// CHECK-NEXT:        1 fuse_activation
// CHECK-NEXT: cse: 4 -> 4 operations

// CHANGE-NOT:  IR Dump After cse
// CHANGE:      IR Dump After fuse-activation
func.func @main(%x: tensor<1x3x4x4xf32>, %w: tensor<16x3x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %0 = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  %1 = glow.relu %0 : tensor<1x16x4x4xf32>
  %2 = glow.transpose %1 permutation [0, 1, 2, 3] : tensor<1x16x4x4xf32>
  func.return %2 : tensor<1x16x4x4xf32>
}
