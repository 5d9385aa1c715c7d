// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=sm_90' --dce %s | filecheck %s

// CHECK-NOT: cpu.indexed_matmul

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
