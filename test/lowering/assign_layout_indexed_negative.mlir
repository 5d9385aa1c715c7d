// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=sm_90' --dce %s | filecheck %s

// CHECK-NOT: cpu.indexed_
// CHECK-NOT: glow.block_dequantize

// Computed matrices would have to be packed for each call.
func.func @computed(%w: tensor<16x5x70xf32>, %x: tensor<16x1x5xf32>, %i: tensor<16xi32>) -> tensor<16x1x70xf32> {
  %m = glow.gather %w, %i axis 0 : tensor<16x5x70xf32>
  %y = glow.matmul %x, %m : tensor<16x1x70xf32>
  func.return %y : tensor<16x1x70xf32>
}

// Several rows for a matrix.
func.func @several(%x: tensor<16x2x5xf32>, %i: tensor<16xi32>) -> tensor<16x2x70xf32> {
  %w = glow.constant dense<2.0> : tensor<16x5x70xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x5x70xf32>
  %y = glow.matmul %x, %m : tensor<16x2x70xf32>
  func.return %y : tensor<16x2x70xf32>
}

// What is picked are columns of one matrix.
func.func @other_axis(%x: tensor<1x1x5xf32>, %i: tensor<16xi32>) -> tensor<16x1x16xf32> {
  %w = glow.constant dense<2.0> : tensor<16x5x70xf32>
  %m = glow.gather %w, %i axis 2 : tensor<16x5x16xf32>
  %y = glow.matmul %x, %m : tensor<16x1x16xf32>
  func.return %y : tensor<16x1x16xf32>
}

// Indices of more axes than the product has batches.
func.func @batches(%x: tensor<16x16x5xf32>, %i: tensor<16xi32>) -> tensor<16x16x16x70xf32> {
  %w = glow.constant dense<2.0> : tensor<16x5x70xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x5x70xf32>
  %r = glow.reshape %x : tensor<16x16x1x5xf32>
  %s = glow.broadcast %r : tensor<16x16x16x5xf32>
  %y = glow.matmul %s, %m : tensor<16x16x16x70xf32>
  func.return %y : tensor<16x16x16x70xf32>
}

// More matrices than a kernel visits for each panel.
func.func @many(%x: tensor<16x1x2xf32>, %i: tensor<16xi32>) -> tensor<16x1x3xf32> {
  %w = glow.constant dense<2.0> : tensor<1025x2x3xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x2x3xf32>
  %y = glow.matmul %x, %m : tensor<16x1x3xf32>
  func.return %y : tensor<16x1x3xf32>
}

// Blocks along the columns of a matrix, and a depth that is not whole words of codes: both become
// floats, of which the first ones are picked.
func.func @blocks_of_columns(%x: tensor<16x2x32xf32>, %i: tensor<16xi32>) -> tensor<16x2x64xf32> {
  %c = glow.constant dense<3> : tensor<16x32x64xi4>
  %s = glow.constant dense<0.5> : tensor<16x32x4xf32>
  %w = glow.block_dequantize %c, %s axis 2 block_size 16 : tensor<16x32x64xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x32x64xf32>
  %y = glow.matmul %x, %m : tensor<16x2x64xf32>
  func.return %y : tensor<16x2x64xf32>
}

// Several rows for a matrix of few bits.
func.func @several_of_few_bits(%x: tensor<16x2x32xf32>, %i: tensor<16xi32>) -> tensor<16x2x64xf32> {
  %c = glow.constant dense<3> : tensor<16x32x64xi4>
  %s = glow.constant dense<0.5> : tensor<16x2x64xf32>
  %w = glow.block_dequantize %c, %s axis 1 block_size 16 : tensor<16x32x64xf32>
  %m = glow.gather %w, %i axis 0 : tensor<16x32x64xf32>
  %y = glow.matmul %x, %m : tensor<16x2x64xf32>
  func.return %y : tensor<16x2x64xf32>
}
