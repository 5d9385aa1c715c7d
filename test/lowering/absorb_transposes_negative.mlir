// RUN: glow-opt --assign-layout --absorb-transposes %s | filecheck %s

// The contiguous axis would become a batch axis.
// CHECK-LABEL: @scattered
// CHECK: cpu.batch_matmul %t, %y
func.func @scattered(%x: tensor<8x16x4xf32>, %y: tensor<4x16x8xf32>) -> tensor<4x8x8xf32> {
  %t = glow.transpose %x permutation [2, 0, 1] : tensor<4x8x16xf32>
  %m = glow.matmul %t, %y : tensor<4x8x8xf32>
  func.return %m : tensor<4x8x8xf32>
}

// The product itself is wanted too.
// CHECK-LABEL: @shared
// CHECK: glow.transpose %m permutation [1, 0, 2]
func.func @shared(%x: tensor<2x8x16xf32>, %y: tensor<2x16x8xf32>) -> (tensor<2x8x8xf32>, tensor<8x2x8xf32>) {
  %m = glow.matmul %x, %y : tensor<2x8x8xf32>
  %t = glow.transpose %m permutation [1, 0, 2] : tensor<8x2x8xf32>
  func.return %m, %t : tensor<2x8x8xf32>, tensor<8x2x8xf32>
}

// One batch is repeated.
// CHECK-LABEL: @repeated
// CHECK: glow.matmul %t, %y
func.func @repeated(%x: tensor<8x1x16xf32>, %y: tensor<4x16x8xf32>) -> tensor<4x8x8xf32> {
  %t = glow.transpose %x permutation [1, 0, 2] : tensor<1x8x16xf32>
  %m = glow.matmul %t, %y : tensor<4x8x8xf32>
  func.return %m : tensor<4x8x8xf32>
}
