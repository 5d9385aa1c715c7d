// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix=EXACT
// RUN: glow-opt --assign-layout='target=avx512 numerics=fast' %s | filecheck %s --check-prefix=FAST

// EXACT-NOT: cpu.winograd_conv2d

// FAST: cpu.winograd_conv2d {{.*}} pads [1, 1, 1, 1] tile 6
// FAST: cpu.winograd_conv2d {{.*}} kernel 5 pads [2, 2, 2, 2] tile 4

// CHECK-LABEL: func.func @chosen(
// CHECK: %[[Y:.*]] = cpu.winograd_conv2d %{{.*}}, %{{.*}}, %w.packed, %{{.*}} input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [{{[0-9]+}}, {{[0-9]+}}, 784] config #cpu.winograd_config<block_rows = 1, blocks = 2, pixels = [7], fused = true> panels #cpu.panels<blocks = 2, lanes = 16, by_block = true> : tensor<1x4x28x28x16xf32>
// CHECK-NEXT: %y = glow.relu %[[Y]] : tensor<1x4x28x28x16xf32>
func.func @chosen(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}

// Five by five taps; groups that fill blocks are one convolution, each with weights of its own.
// CHECK-LABEL: func.func @groups(
// CHECK: %w.packed = glow.constant {{.*}} : tensor<73728xf32>
// CHECK: cpu.winograd_conv2d %{{.*}}, %{{.*}}, %w.packed, %{{.*}} input_channels 64 output_channels 64 group 2 kernel 5 pads [2, 2, 2, 2] tile 2 scratch [{{[0-9]+}}, {{[0-9]+}}, 1568] config #cpu.winograd_config<{{.*}}, fused = true>
func.func @groups(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x32x5x5xf32>
  %y = glow.conv2d %x, %w group 2 pads [2, 2, 2, 2] : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}

// Many groups, and images of a batch.
// CHECK-LABEL: func.func @many_groups(
// CHECK: cpu.winograd_conv2d {{.*}} group 20 pads [1, 1, 1, 1] tile 4
func.func @many_groups(%x: tensor<2x320x14x14xf32>) -> tensor<2x320x14x14xf32> {
  %w = glow.splat 1.0 : tensor<320x16x3x3xf32>
  %y = glow.conv2d %x, %w group 20 pads [1, 1, 1, 1] : tensor<2x320x14x14xf32>
  func.return %y : tensor<2x320x14x14xf32>
}

// Four tiles of a group multiply its weights faster than these arrive; groups of eight channels
// share blocks; channels of their own have kernels that multiply no matrices.
// CHECK-LABEL: func.func @direct_groups(
// CHECK-NOT: cpu.winograd_conv2d
// CHECK: func.return
func.func @direct_groups(%x: tensor<1x768x7x7xf32>, %y: tensor<1x64x28x28xf32>) -> (tensor<1x768x7x7xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>) {
  %w = glow.splat 1.0 : tensor<768x48x3x3xf32>
  %v = glow.splat 1.0 : tensor<64x8x3x3xf32>
  %u = glow.splat 1.0 : tensor<64x1x3x3xf32>
  %0 = glow.conv2d %x, %w group 16 pads [1, 1, 1, 1] : tensor<1x768x7x7xf32>
  %1 = glow.conv2d %y, %v group 8 pads [1, 1, 1, 1] : tensor<1x64x28x28xf32>
  %2 = glow.conv2d %y, %u group 64 pads [1, 1, 1, 1] : tensor<1x64x28x28xf32>
  func.return %0, %1, %2 : tensor<1x768x7x7xf32>, tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>
}

// Strides, wide pads, other kernels and small planes have direct sums; so have dilations whose
// outputs are not of one phase of inputs (assign_layout_dilated.mlir has others).
// CHECK-LABEL: func.func @direct(
// CHECK-NOT: cpu.winograd_conv2d
// CHECK: func.return
func.func @direct(%x: tensor<1x64x28x28xf32>, %s: tensor<1x64x3x3xf32>) -> (tensor<1x64x14x14xf32>, tensor<1x64x26x26xf32>, tensor<1x64x30x30xf32>, tensor<1x64x22x22xf32>, tensor<1x64x3x3xf32>) {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %k = glow.splat 1.0 : tensor<64x64x7x7xf32>
  %0 = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x64x14x14xf32>
  %1 = glow.conv2d %x, %w dilations [2, 2] pads [1, 1, 1, 1] : tensor<1x64x26x26xf32>
  %3 = glow.conv2d %x, %w pads [2, 2, 2, 2] : tensor<1x64x30x30xf32>
  %4 = glow.conv2d %x, %k : tensor<1x64x22x22xf32>
  %5 = glow.conv2d %s, %w pads [1, 1, 1, 1] : tensor<1x64x3x3xf32>
  func.return %0, %1, %3, %4, %5 : tensor<1x64x14x14xf32>, tensor<1x64x26x26xf32>, tensor<1x64x30x30xf32>, tensor<1x64x22x22xf32>, tensor<1x64x3x3xf32>
}

// The transformed weights would take 108 MB more, which a network this small may not.
// CHECK-LABEL: func.func @budget(
// CHECK-NOT: cpu.winograd_conv2d
// CHECK: func.return
func.func @budget(%x: tensor<1x1024x16x16xf32>) -> tensor<1x1024x16x16xf32> {
  %w = glow.splat 1.0 : tensor<1024x1024x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x1024x16x16xf32>
  func.return %y : tensor<1x1024x16x16xf32>
}
