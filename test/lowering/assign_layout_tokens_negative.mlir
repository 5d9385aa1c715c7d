// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s

// Channels that do not fill their blocks, other axes, and rows that cut channels are unpacked.
// CHECK-LABEL: func.func @unpacked(
// CHECK-NOT: permutation [0, 2, 1, 3]
// CHECK: cpu.unpack %{{.*}} channels 12
// CHECK-NOT: permutation [0, 2, 1, 3]
// CHECK: cpu.unpack %{{.*}} channels 16
// CHECK-NOT: permutation [0, 2, 1, 3]
// CHECK: func.return
func.func @unpacked(%x: tensor<2x16x5x7xf32>) -> (tensor<2x35x12xf32>, tensor<2x7x5x16xf32>, tensor<2x70x8xf32>) {
  %w = glow.splat 0.25 : tensor<12x16x3x3xf32>
  %v = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x12x5x7xf32>
  %1 = glow.reshape %0 : tensor<2x12x35xf32>
  %2 = glow.transpose %1 permutation [0, 2, 1] : tensor<2x35x12xf32>
  %3 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  %4 = glow.transpose %3 permutation [0, 3, 2, 1] : tensor<2x7x5x16xf32>
  %5 = glow.reshape %3 : tensor<2x8x70xf32>
  %6 = glow.transpose %5 permutation [0, 2, 1] : tensor<2x70x8xf32>
  func.return %2, %4, %6 : tensor<2x35x12xf32>, tensor<2x7x5x16xf32>, tensor<2x70x8xf32>
}

// CHECK-LABEL: func.func @packed(
// CHECK-NOT: permutation [0, 2, 1, 3]
// CHECK: cpu.pack %{{.*}} : tensor<2x2x5x7x8xf32>
// CHECK: cpu.pack %{{.*}} : tensor<2x2x7x5x8xf32>
func.func @packed(%x: tensor<2x35x12xf32>, %y: tensor<2x5x7x16xf32>) -> (tensor<2x16x5x7xf32>, tensor<2x16x7x5xf32>) {
  %w = glow.splat 0.25 : tensor<16x12x3x3xf32>
  %v = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.transpose %x permutation [0, 2, 1] : tensor<2x12x35xf32>
  %1 = glow.reshape %0 : tensor<2x12x5x7xf32>
  %2 = glow.conv2d %1, %w pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  %3 = glow.transpose %y permutation [0, 3, 2, 1] : tensor<2x16x7x5xf32>
  %4 = glow.conv2d %3, %v pads [1, 1, 1, 1] : tensor<2x16x7x5xf32>
  func.return %2, %4 : tensor<2x16x5x7xf32>, tensor<2x16x7x5xf32>
}
