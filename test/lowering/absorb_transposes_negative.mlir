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

// A transposition in front of a loop is done once, not in each iteration.
// CHECK-LABEL: @looped
// CHECK: %t = glow.transpose %w
// CHECK: cpu.batch_matmul %s, %t
func.func @looped(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %first = arith.constant 0 : index
  %end = arith.constant 5 : index
  %step = arith.constant 1 : index
  %t = glow.transpose %w permutation [1, 0] : tensor<16x16xf32>
  %r = scf.for %i = %first to %end step %step iter_args(%s = %x) -> (tensor<8x16xf32>) {
    %m = glow.matmul %s, %t : tensor<8x16xf32>
    scf.yield %m : tensor<8x16xf32>
  }
  func.return %r : tensor<8x16xf32>
}
