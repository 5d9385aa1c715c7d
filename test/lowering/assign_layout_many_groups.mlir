// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix EXACT

// Nine groups of 24 channels fit no blocks of 16: each block reads the channels of its one or two
// groups, where rows of 14 pixels fill no vector.
// CHECK-LABEL: func.func @narrow_rows(
// CHECK: cpu.sparse_conv2d {{.*}} tile_blocks 1 entries [432]
// EXACT-LABEL: func.func @narrow_rows(
// EXACT: cpu.plain_conv2d {{.*}} group 9
func.func @narrow_rows(%x: tensor<1x216x14x14xf32>) -> tensor<1x216x14x14xf32> {
  %w = glow.splat 0.5 : tensor<216x24x3x3xf32>
  %0 = glow.conv2d %x, %w group 9 pads [1, 1, 1, 1] : tensor<1x216x14x14xf32>
  func.return %0 : tensor<1x216x14x14xf32>
}

// Of strided rows every other pixel has to be gathered.
// CHECK-LABEL: func.func @strided(
// CHECK: cpu.sparse_conv2d
func.func @strided(%x: tensor<1x216x56x56xf32>) -> tensor<1x216x28x28xf32> {
  %w = glow.splat 0.5 : tensor<216x24x3x3xf32>
  %0 = glow.conv2d %x, %w group 9 strides [2, 2] pads [1, 1, 1, 1] : tensor<1x216x28x28xf32>
  func.return %0 : tensor<1x216x28x28xf32>
}

// Rows of 64 pixels are whole vectors.
// CHECK-LABEL: func.func @wide_rows(
// CHECK: cpu.plain_conv2d {{.*}} group 9
func.func @wide_rows(%x: tensor<1x216x64x64xf32>) -> tensor<1x216x64x64xf32> {
  %w = glow.splat 0.5 : tensor<216x24x3x3xf32>
  %0 = glow.conv2d %x, %w group 9 pads [1, 1, 1, 1] : tensor<1x216x64x64xf32>
  func.return %0 : tensor<1x216x64x64xf32>
}

// A block holds five groups of three channels, and reads fifteen for each.
// CHECK-LABEL: func.func @small_groups(
// CHECK: cpu.plain_conv2d {{.*}} group 20
func.func @small_groups(%x: tensor<1x60x14x14xf32>) -> tensor<1x60x14x14xf32> {
  %w = glow.splat 0.5 : tensor<60x3x3x3xf32>
  %0 = glow.conv2d %x, %w group 20 pads [1, 1, 1, 1] : tensor<1x60x14x14xf32>
  func.return %0 : tensor<1x60x14x14xf32>
}
