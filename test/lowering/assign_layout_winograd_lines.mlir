// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix=EXACT

// EXACT-NOT: cpu.winograd_conv2d

// A row is a column: its blocks of tiles are what threads share.
// CHECK-LABEL: func.func @row(
// CHECK: %[[P:.*]] = cpu.pack %x lanes 16 : tensor<1x8x1x512x16xf32>
// CHECK-NEXT: %[[C:.*]] = glow.reshape %[[P]] : tensor<1x8x512x1x16xf32>
// CHECK-NEXT: %[[Y:.*]] = cpu.winograd_conv2d %{{.*}}, %[[C]], %w.packed, %{{.*}} input_channels 128 output_channels 128 axes [0] pads [1, 0, 1, 0] tile 6 scratch [{{[0-9]+}}, {{[0-9]+}}, 512] config #cpu.winograd_config<block_rows = {{[0-9]+}}, blocks = 2, pixels = [{{[0-9]+}}]> panels #cpu.panels<blocks = 2, lanes = 16> : tensor<1x8x512x1x16xf32>
// CHECK-NEXT: %[[R:.*]] = glow.relu %[[Y]] : tensor<1x8x512x1x16xf32>
// CHECK-NEXT: %[[B:.*]] = glow.reshape %[[R]] : tensor<1x8x1x512x16xf32>
// CHECK-NEXT: %{{.*}} = cpu.unpack %[[B]] channels 128 : tensor<1x128x1x512xf32>
func.func @row(%x: tensor<1x128x1x512xf32>) -> tensor<1x128x1x512xf32> {
  %w = glow.splat 1.0 : tensor<128x128x1x3xf32>
  %y = glow.conv2d %x, %w pads [0, 1, 0, 1] activation "relu" : tensor<1x128x1x512xf32>
  func.return %y : tensor<1x128x1x512xf32>
}

// A dilation of d reads columns of a plane that is d wide; what comes next stays in blocks.
// CHECK-LABEL: func.func @dilated(
// CHECK: glow.reshape %{{.*}} : tensor<1x8x16x32x16xf32>
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} axes [0] pads [2, 0, 0, 0] tile 4 {{.*}} : tensor<1x8x16x32x16xf32>
// CHECK: %[[Z:.*]] = glow.reshape %{{.*}} : tensor<1x8x128x4x16xf32>
// CHECK-NEXT: cpu.winograd_conv2d %{{.*}}, %[[Z]], {{.*}} kernel 5 axes [0] pads [4, 0, 0, 0] tile 4 {{.*}} : tensor<1x8x128x4x16xf32>
func.func @dilated(%x: tensor<1x128x1x512xf32>) -> tensor<1x128x1x512xf32> {
  %w = glow.splat 1.0 : tensor<128x128x1x3xf32>
  %v = glow.splat 1.0 : tensor<128x128x1x5xf32>
  %0 = glow.conv2d %x, %w pads [0, 64, 0, 0] dilations [1, 32] : tensor<1x128x1x512xf32>
  %1 = glow.conv2d %0, %v pads [0, 16, 0, 0] dilations [1, 4] : tensor<1x128x1x512xf32>
  func.return %1 : tensor<1x128x1x512xf32>
}

// A kernel of one row, or of one column, on an image.
// CHECK-LABEL: func.func @image(
// CHECK: cpu.winograd_conv2d {{.*}} axes [1] pads [0, 1, 0, 1] tile {{[46]}} {{.*}} : tensor<1x8x28x28x16xf32>
// CHECK: cpu.winograd_conv2d {{.*}} kernel 7 axes [0] pads [3, 0, 3, 0] tile 2 {{.*}} : tensor<1x8x28x28x16xf32>
func.func @image(%x: tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32> {
  %w = glow.splat 1.0 : tensor<128x128x1x3xf32>
  %v = glow.splat 1.0 : tensor<128x128x7x1xf32>
  %0 = glow.conv2d %x, %w pads [0, 1, 0, 1] : tensor<1x128x28x28xf32>
  %1 = glow.conv2d %0, %v pads [3, 0, 3, 0] : tensor<1x128x28x28xf32>
  func.return %1 : tensor<1x128x28x28xf32>
}

// Columns that are not whole, strides, and kernels of two sizes have direct sums.
// CHECK-LABEL: func.func @direct(
// CHECK-NOT: cpu.winograd_conv2d
// CHECK: func.return
func.func @direct(%x: tensor<1x128x1x512xf32>, %s: tensor<1x128x28x28xf32>) -> (tensor<1x128x1x504xf32>, tensor<1x128x1x255xf32>, tensor<1x128x24x26xf32>, tensor<1x128x1x510xf32>) {
  %w = glow.splat 1.0 : tensor<128x128x1x3xf32>
  %v = glow.splat 1.0 : tensor<128x128x5x3xf32>
  %0 = glow.conv2d %x, %w pads [0, 1, 0, 1] dilations [1, 5] : tensor<1x128x1x504xf32>
  %1 = glow.conv2d %x, %w strides [1, 2] : tensor<1x128x1x255xf32>
  %2 = glow.conv2d %s, %v : tensor<1x128x24x26xf32>
  %3 = glow.conv2d %x, %w pads [0, 1, 0, 1] dilations [1, 2] : tensor<1x128x1x510xf32>
  func.return %0, %1, %2, %3 : tensor<1x128x1x504xf32>, tensor<1x128x1x255xf32>, tensor<1x128x24x26xf32>, tensor<1x128x1x510xf32>
}
