// RUN: glow-opt --fuse-pool %s | filecheck %s

// Windows that overlap, or have padding, lie in two tiles.
// CHECK-LABEL: func.func @overlapping(
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: glow.max_pool2d
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: glow.max_pool2d
func.func @overlapping(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>) -> (tensor<1x1x3x3x16xf32>, tensor<1x1x5x5x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %y = glow.max_pool2d %0 kernel [3, 3] strides [2, 2] : tensor<1x1x3x3x16xf32>
  %1 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %z = glow.max_pool2d %1 kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] : tensor<1x1x5x5x16xf32>
  func.return %y, %z : tensor<1x1x3x3x16xf32>, tensor<1x1x5x5x16xf32>
}

// The last tile of an odd plane starts at an odd row.
// CHECK-LABEL: func.func @odd(
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x7x8x16xf32>
// CHECK-NEXT: glow.max_pool2d
func.func @odd(%x: tensor<1x1x7x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x3x4x16xf32> {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x7x8x16xf32>
  %z = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x1x3x4x16xf32>
  func.return %z : tensor<1x1x3x4x16xf32>
}

// A function that decreases somewhere; others read the sums; a mean is no
// maximum.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: glow.hard_swish
// CHECK-NEXT: glow.max_pool2d
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: glow.max_pool2d
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: glow.avg_pool2d
func.func @others(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<9216xf32>, %b: tensor<1x16xf32>) -> (tensor<1x1x4x4x16xf32>, tensor<1x1x4x4x16xf32>, tensor<1x1x8x8x16xf32>, tensor<1x1x4x4x16xf32>) {
  %0 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %1 = glow.hard_swish %0 : tensor<1x1x8x8x16xf32>
  %2 = glow.max_pool2d %1 kernel [2, 2] strides [2, 2] : tensor<1x1x4x4x16xf32>
  %3 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %4 = glow.max_pool2d %3 kernel [2, 2] strides [2, 2] : tensor<1x1x4x4x16xf32>
  %5 = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 pads [1, 1, 1, 1] tile 4 scratch [64, 64, 64] : tensor<1x1x8x8x16xf32>
  %6 = glow.avg_pool2d %5 kernel [2, 2] strides [2, 2] : tensor<1x1x4x4x16xf32>
  func.return %2, %4, %3, %6 : tensor<1x1x4x4x16xf32>, tensor<1x1x4x4x16xf32>, tensor<1x1x8x8x16xf32>, tensor<1x1x4x4x16xf32>
}
