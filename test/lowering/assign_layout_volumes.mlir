// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize %s | filecheck %s
// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize --fuse-epilogue --canonicalize %s | filecheck %s --check-prefix=FUSED

// Volumes between convolutions are planes, and stay in blocks; so does a sum of two.
// CHECK-LABEL: func.func @residual(
// CHECK:       cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[RELU:%.*]] = glow.relu {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[PADDED:%.*]] = glow.pad [[RELU]] pads [1, 0, 0, 0, 0, 1, 0, 0, 0, 0] : tensor<6x2x6x6x8xf32>
// CHECK-NEXT:  glow.slice [[PADDED]] starts [0, 0, 0, 0, 0] {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK:       glow.concat {{.*}} axis 1 : tensor<4x6x6x6x8xf32>
// CHECK:       [[CONV:%.*]] = cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[SUM:%.*]] = glow.add [[CONV]], [[RELU]] : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[PLAIN:%.*]] = cpu.unpack [[SUM]] channels 16 : tensor<4x16x6x6xf32>
// CHECK-NEXT:  glow.reshape [[PLAIN]] : tensor<1x4x16x6x6xf32>
// CHECK-NEXT:  glow.transpose
// CHECK-NEXT:  func.return

// The activation is part of the convolution's kernel.
// FUSED-LABEL: func.func @residual(
// FUSED-NOT:   glow.relu
func.func @residual(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %v = glow.splat 0.5 : tensor<16x16x3x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.relu %0 : tensor<1x16x4x6x6xf32>
  %2 = glow.conv3d %1, %v pads [1, 1, 1, 1, 1, 1] : tensor<1x16x4x6x6xf32>
  %3 = glow.add %2, %1 : tensor<1x16x4x6x6xf32>
  func.return %3 : tensor<1x16x4x6x6xf32>
}

// Channels that are added are whole blocks, or the image is packed again; so sums stay in blocks.
// CHECK-LABEL: func.func @padded(
// CHECK:       glow.pad {{.*}} pads [1, 1, 0, 0, 0, 0, 0, 0, 0, 0] : tensor<5x3x6x6x8xf32>
// CHECK:       glow.add {{.*}} : tensor<5x3x6x6x8xf32>
// CHECK:       glow.pad {{.*}} pads [0, 4, 0, 0, 0, 4, 0, 0] : tensor<4x24x6x6xf32>
// CHECK-NEXT:  cpu.pack {{.*}} : tensor<4x3x6x6x8xf32>
// CHECK-NEXT:  glow.tanh {{.*}} : tensor<4x3x6x6x8xf32>
func.func @padded(%x: tensor<1x3x4x6x6xf32>) -> (tensor<1x24x5x6x6xf32>, tensor<1x24x4x6x6xf32>) {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.pad %0 pads [0, 8, 1, 0, 0, 0, 0, 0, 0, 0] : tensor<1x24x5x6x6xf32>
  %2 = glow.add %1, %1 : tensor<1x24x5x6x6xf32>
  %3 = glow.pad %0 pads [0, 4, 0, 0, 0, 0, 4, 0, 0, 0] : tensor<1x24x4x6x6xf32>
  %4 = glow.tanh %3 : tensor<1x24x4x6x6xf32>
  func.return %2, %4 : tensor<1x24x5x6x6xf32>, tensor<1x24x4x6x6xf32>
}

// A volume from elsewhere is none of planes in blocks.
// CHECK-LABEL: func.func @elsewhere(
// CHECK:       glow.add %{{.*}}, %y : tensor<1x16x4x6x6xf32>
func.func @elsewhere(%x: tensor<1x3x4x6x6xf32>, %y: tensor<1x16x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.add %0, %y : tensor<1x16x4x6x6xf32>
  func.return %1 : tensor<1x16x4x6x6xf32>
}

// Volumes go on as columns behind windows along the depth; for images whole blocks are moved.
// CHECK-LABEL: func.func @factors(
// CHECK:       cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  glow.reshape {{.*}} : tensor<1x4x2x36x8xf32>
// CHECK-NEXT:  glow.transpose {{.*}} permutation [0, 2, 1, 3, 4] : tensor<1x2x4x36x8xf32>
// CHECK:       [[DEEP:%.*]] = cpu.conv2d {{.*}} kernel [3, 1] {{.*}} : tensor<1x2x4x36x8xf32>
// CHECK-NEXT:  glow.relu [[DEEP]] : tensor<1x2x4x36x8xf32>
// CHECK-NEXT:  glow.transpose {{.*}} permutation [0, 2, 1, 3, 4] : tensor<1x4x2x36x8xf32>
// CHECK-NEXT:  glow.reshape {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK:       cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  cpu.unpack
func.func @factors(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %v = glow.splat 0.5 : tensor<16x16x3x1x1xf32>
  %u = glow.splat 0.5 : tensor<16x16x1x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.conv3d %0, %v pads [1, 0, 0, 1, 0, 0] : tensor<1x16x4x6x6xf32>
  %2 = glow.relu %1 : tensor<1x16x4x6x6xf32>
  %3 = glow.conv3d %2, %u pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  func.return %3 : tensor<1x16x4x6x6xf32>
}

// Pools of columns move nothing; means, numbers of channels and joined channels stay in blocks.
// CHECK-LABEL: func.func @between(
// CHECK:       [[COLUMNS:%.*]] = cpu.conv2d {{.*}} kernel [3, 1] {{.*}} : tensor<1x2x4x36x8xf32>
// CHECK:       [[IMAGES:%.*]] = glow.reshape [[COLUMNS]] : tensor<1x8x6x6x8xf32>
// CHECK-NEXT:  glow.max_pool2d [[IMAGES]] {{.*}} : tensor<1x8x3x3x8xf32>
// CHECK-NEXT:  glow.reshape {{.*}} : tensor<1x2x4x9x8xf32>
// CHECK-NEXT:  glow.max_pool2d {{.*}} kernel [2, 1] {{.*}} : tensor<1x2x2x9x8xf32>
// CHECK:       glow.mul {{.*}} : tensor<1x2x2x9x8xf32>
// CHECK-NEXT:  [[BOTH:%.*]] = glow.concat {{.*}} axis 1 : tensor<1x4x2x9x8xf32>
// CHECK-NEXT:  glow.reduce_mean [[BOTH]] axes [2, 3] keepdims : tensor<1x4x1x1x8xf32>
func.func @between(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x32xf32> {
  %w = glow.splat 0.25 : tensor<16x3x3x1x1xf32>
  %s = glow.constant dense<[[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]], [[[7.0]]], [[[8.0]]], [[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]], [[[7.0]]], [[[8.0]]]]]> : tensor<1x16x1x1x1xf32>
  %0 = glow.conv3d %x, %w pads [1, 0, 0, 1, 0, 0] : tensor<1x16x4x6x6xf32>
  %1 = glow.reshape %0 : tensor<1x64x6x6xf32>
  %2 = glow.max_pool2d %1 kernel [2, 2] strides [2, 2] : tensor<1x64x3x3xf32>
  %3 = glow.reshape %2 : tensor<1x16x4x9xf32>
  %4 = glow.max_pool2d %3 kernel [2, 1] strides [2, 1] : tensor<1x16x2x9xf32>
  %5 = glow.reshape %4 : tensor<1x16x2x3x3xf32>
  %6 = glow.mul %5, %s : tensor<1x16x2x3x3xf32>
  %7 = glow.concat %5, %6 axis 1 : tensor<1x32x2x3x3xf32>
  %8 = glow.reduce_mean %7 axes [2, 3, 4] : tensor<1x32xf32>
  func.return %8 : tensor<1x32xf32>
}

// Single pixels are those of images where these are there.
// CHECK-LABEL: func.func @pixels(
// CHECK:       cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK:       cpu.conv2d {{.*}} input_channels 16 output_channels 8 {{.*}} : tensor<4x1x6x6x8xf32>
func.func @pixels(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x8x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x3x3x3xf32>
  %v = glow.splat 0.5 : tensor<8x16x1x1x1xf32>
  %0 = glow.conv3d %x, %w pads [1, 1, 1, 1, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.conv3d %0, %v : tensor<1x8x4x6x6xf32>
  func.return %1 : tensor<1x8x4x6x6xf32>
}
