// RUN: glow-opt --assign-layout='target=avx512' --absorb-transposes --fuse-epilogue --absorb-transposes --dce %s | filecheck %s

// Bytes are read through the transpositions, and stored through the one behind the epilogue.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %[[Z:.*]] = glow.constant dense<[0, 7]> : tensor<2xi32>
// CHECK-NEXT: %{{.*}} = cpu.int8_batch_matmul %p, %v, %[[Z]] lhs_axes [0, 1, 2, 3] rhs_axes [0, 2, 1, 3] result_axes [0, 2, 1, 3] plain_lhs {
// CHECK-NEXT: ^bb0(%[[S:.*]]: i32):
// CHECK-NEXT: arith.sitofp %[[S]] : i32 to f32
// CHECK: } : tensor<1x9x2x16xui8>
func.func @attention(%p: tensor<1x2x9x5xui8>, %v: tensor<1x5x2x16xui8>) -> tensor<1x9x2x16xui8> {
  %zero = glow.constant dense<0> : tensor<ui8>
  %point = glow.constant dense<7> : tensor<ui8>
  %0 = glow.transpose %v permutation [0, 2, 1, 3] : tensor<1x2x5x16xui8>
  %1 = glow.matmul_integer %p, %0, %zero, %point : tensor<1x2x9x16xi32>
  %2 = glow.convert %1 : tensor<1x2x9x16xf32>
  %3 = glow.clip %2 low 0.0 high 255.0 : tensor<1x2x9x16xf32>
  %4 = glow.convert %3 : tensor<1x2x9x16xui8>
  %5 = glow.transpose %4 permutation [0, 2, 1, 3] : tensor<1x9x2x16xui8>
  func.return %5 : tensor<1x9x2x16xui8>
}

// A residual lies as the result does: its transposition stays.
// CHECK-LABEL: func.func @residual(
// CHECK: cpu.int8_batch_matmul %p, %v, %{{.*}}, %r lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] plain_lhs plain_rhs {
// CHECK: glow.transpose
func.func @residual(%p: tensor<2x9x8xui8>, %v: tensor<2x8x16xi8>, %r: tensor<2x9x16xi32>) -> tensor<9x2x16xi32> {
  %0 = glow.matmul_integer %p, %v : tensor<2x9x16xi32>
  %1 = glow.add %0, %r : tensor<2x9x16xi32>
  %2 = glow.transpose %1 permutation [1, 0, 2] : tensor<9x2x16xi32>
  func.return %2 : tensor<9x2x16xi32>
}

// Signed bytes on the left become unsigned ones, their zero point with them.
// CHECK-LABEL: func.func @signed(
// CHECK: %[[P:.*]] = glow.constant dense<[128, 0]> : tensor<2xi32>
// CHECK: cpu.int8_batch_matmul %{{.*}}, %w, %[[P]] lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] plain_rhs : tensor<3x5xi32>
func.func @signed(%x: tensor<3x4xi8>, %w: tensor<4x5xi8>) -> tensor<3x5xi32> {
  %0 = glow.matmul_integer %x, %w : tensor<3x5xi32>
  func.return %0 : tensor<3x5xi32>
}

// Zero points that are computed are joined; one for each row is left alone.
// CHECK-LABEL: func.func @computed(
// CHECK: %[[C:.*]] = glow.concat %{{.*}}, %{{.*}} axis 0 : tensor<2xi32>
// CHECK: cpu.int8_batch_matmul %x, %w, %[[C]] lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] : tensor<3x5xi32>
// CHECK: glow.matmul_integer
func.func @computed(%x: tensor<3x4xui8>, %w: tensor<4x5xui8>, %p: tensor<ui8>, %q: tensor<1xui8>, %rows: tensor<3xui8>) -> (tensor<3x5xi32>, tensor<3x5xi32>) {
  %0 = glow.matmul_integer %x, %w, %p, %q : tensor<3x5xi32>
  %1 = glow.matmul_integer %x, %w, %rows, %q : tensor<3x5xi32>
  func.return %0, %1 : tensor<3x5xi32>, tensor<3x5xi32>
}
