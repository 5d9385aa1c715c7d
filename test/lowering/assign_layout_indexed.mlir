// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s

// Matrices that indices pick for rows are multiplied where they are. Panels of columns are as wide
// as the register tile, the last one filled up with zeros.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[W:.*]] = glow.constant {{.*}} : tensor<16x{{[0-9]+}}x5x{{[0-9]+}}xf32>
// CHECK: %[[X:.*]] = glow.reshape %x : tensor<16x5xf32>
// CHECK: %[[Y:.*]] = cpu.indexed_matmul %[[X]], %[[W]], %i columns 70 : tensor<16x70xf32>
// CHECK: glow.reshape %[[Y]] : tensor<16x1x70xf32>
func.func @columns(%x: tensor<16x1x5xf32>, %i: tensor<16xi32>) -> tensor<16x1x70xf32> {
  %w = glow.constant dense<2.0> : tensor<16x5x70xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x5x70xf32>
  %y = glow.matmul %x, %m : tensor<16x1x70xf32>
  func.return %y : tensor<16x1x70xf32>
}

// From the left, as a matrix times a column; the rows of all items are one matrix.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[I:.*]] = glow.reshape %i : tensor<16xi64>
// CHECK: cpu.indexed_matmul %{{.*}}, %{{.*}}, %[[I]] columns 70 : tensor<16x70xf32>
// CHECK: glow.reshape %{{.*}} : tensor<8x2x70x1xf32>
func.func @rows(%x: tensor<8x2x5x1xf32>, %i: tensor<8x2xi64>) -> tensor<8x2x70x1xf32> {
  %w = glow.constant dense<2.0> : tensor<16x70x5xf32>
  %m = glow.gather %w, %i axis 0 : tensor<8x2x70x5xf32>
  %y = glow.matmul %m, %x : tensor<8x2x70x1xf32>
  func.return %y : tensor<8x2x70x1xf32>
}

// Turned operands, and one row for all items.
// CHECK-LABEL: func.func @turned(
// CHECK: %[[X:.*]] = glow.broadcast %x : tensor<16x5x1xf32>
// CHECK: cpu.indexed_matmul %{{.*}}, %{{.*}}, %i columns 70 : tensor<16x70xf32>
func.func @turned(%x: tensor<1x5x1xf32>, %i: tensor<16xi64>) -> tensor<16x1x70xf32> {
  %w = glow.constant dense<2.0> : tensor<16x70x5xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x70x5xf32>
  %y = glow.matmul %x, %m transpose_lhs transpose_rhs : tensor<16x1x70xf32>
  func.return %y : tensor<16x1x70xf32>
}
