// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize %s | filecheck %s

// Channels that fill their blocks are reduced there: blocks first, then lanes.
// CHECK-LABEL: func.func @channels(
// CHECK:       [[CONV:%.*]] = cpu.conv2d {{.*}} : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  [[LANES:%.*]] = glow.reduce_mean [[CONV]] axes [1] keepdims : tensor<2x1x6x6x8xf32>
// CHECK-NEXT:  [[MEAN:%.*]] = glow.reduce_mean [[LANES]] axes [4] keepdims : tensor<2x1x6x6x1xf32>
// CHECK-NEXT:  glow.sub [[CONV]], [[MEAN]] : tensor<2x2x6x6x8xf32>
func.func @channels(%x: tensor<2x16x6x6xf32>) -> tensor<2x16x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x6x6xf32>
  %1 = glow.reduce_mean %0 axes [1] keepdims : tensor<2x1x6x6xf32>
  %2 = glow.sub %0, %1 : tensor<2x16x6x6xf32>
  func.return %2 : tensor<2x16x6x6xf32>
}

// Padding lanes would count.
// CHECK-LABEL: func.func @few_channels(
// CHECK:       glow.reduce_max {{.*}} axes [1] : tensor<2x6x6xf32>
func.func @few_channels(%x: tensor<2x16x6x6xf32>) -> tensor<2x6x6xf32> {
  %w = glow.splat 0.25 : tensor<12x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x12x6x6xf32>
  %1 = glow.reduce_max %0 axes [1] : tensor<2x6x6xf32>
  func.return %1 : tensor<2x6x6xf32>
}

// Threads share the lines of a large plane.
// CHECK-LABEL: func.func @large_planes(
// CHECK:       glow.reduce_max {{.*}} axes [3] keepdims : tensor<1x2x32x1x8xf32>
// CHECK-NEXT:  glow.reduce_max {{.*}} axes [2] keepdims : tensor<1x2x1x1x8xf32>
func.func @large_planes(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x1x1xf32> {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x16x32x32xf32>
  %1 = glow.reduce_max %0 axes [2, 3] keepdims : tensor<1x16x1x1xf32>
  func.return %1 : tensor<1x16x1x1xf32>
}
