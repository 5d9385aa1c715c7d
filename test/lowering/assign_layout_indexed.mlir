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

// Matrices of few bits stay so: a record of 8 words has a scale, or a zero point before them too.
// CHECK-LABEL: func.func @few_bits(
// CHECK: %[[W:.*]] = glow.constant {{.*}} : tensor<16x{{[0-9]+}}x2x3x{{[0-9]+}}xi32>
// CHECK: cpu.indexed_block_matmul %{{.*}}, %[[W]], %i bits 4 block_size 16 columns 70 : tensor<16x70xf32>
func.func @few_bits(%x: tensor<16x1x32xf32>, %i: tensor<16xi32>) -> tensor<16x1x70xf32> {
  %c = glow.constant dense<3> : tensor<16x70x32xi4>
  %s = glow.constant dense<0.5> : tensor<16x70x2xf32>
  %w = glow.block_dequantize %c, %s axis 2 block_size 16 : tensor<16x70x32xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x70x32xf32>
  %y = glow.matmul %x, %m transpose_rhs : tensor<16x1x70xf32>
  func.return %y : tensor<16x1x70xf32>
}

// CHECK-LABEL: func.func @few_bits_and_points(
// CHECK: cpu.indexed_block_matmul %{{.*}}, %{{.*}}, %i bits 4 block_size 16 points columns 70 : tensor<16x70xf32>
func.func @few_bits_and_points(%x: tensor<16x1x32xf32>, %i: tensor<16xi32>) -> tensor<16x1x70xf32> {
  %c = glow.constant dense<3> : tensor<16x32x70xui4>
  %s = glow.constant dense<0.5> : tensor<16x2x70xf32>
  %p = glow.constant dense<5> : tensor<16x2x70xui4>
  %w = glow.block_dequantize %c, %s, %p axis 1 block_size 16 : tensor<16x32x70xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x32x70xf32>
  %y = glow.matmul %x, %m : tensor<16x1x70xf32>
  func.return %y : tensor<16x1x70xf32>
}
