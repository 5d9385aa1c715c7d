// RUN: glow-opt --split-batch='target=avx2' %s | filecheck %s
// RUN: glow-opt --split-batch='target=sm_90' %s | filecheck %s --check-prefix=GPU

// A batch is what fills a GPU.
// GPU-NOT: glow.slice

// One image after the other, up to where planes are small.
// CHECK-LABEL: func.func @front(
// CHECK:      %0 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 16, 64, 64] steps [1, 1, 1, 1] : tensor<1x16x64x64xf32>
// CHECK-NEXT: %c = glow.conv2d %0, %w pads [1, 1, 1, 1] : tensor<1x32x64x64xf32>
// CHECK-NEXT: %r = glow.relu %c : tensor<1x32x64x64xf32>
// CHECK-NEXT: %p = glow.max_pool2d %r kernel [8, 8] strides [8, 8] : tensor<1x32x8x8xf32>
// CHECK-NEXT: glow.slice %x starts [1, 0, 0, 0] sizes [1, 16, 64, 64]
// CHECK-NEXT: glow.conv2d %{{.*}}, %w
// CHECK:      glow.slice %x starts [2, 0, 0, 0] sizes [1, 16, 64, 64]
// CHECK:      [[LAST:%.*]] = glow.max_pool2d
// CHECK-NEXT: [[ALL:%.*]] = glow.concat %p, %{{.*}}, [[LAST]] axis 0 : tensor<3x32x8x8xf32>
// CHECK-NEXT: glow.conv2d [[ALL]], %v
func.func @front(%x: tensor<3x16x64x64xf32>) -> tensor<3x64x8x8xf32> {
  %w = glow.splat 0.01 : tensor<32x16x3x3xf32>
  %v = glow.splat 0.02 : tensor<64x32x3x3xf32>
  %c = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<3x32x64x64xf32>
  %r = glow.relu %c : tensor<3x32x64x64xf32>
  %p = glow.max_pool2d %r kernel [8, 8] strides [8, 8] : tensor<3x32x8x8xf32>
  %y = glow.conv2d %p, %v pads [1, 1, 1, 1] : tensor<3x64x8x8xf32>
  func.return %y : tensor<3x64x8x8xf32>
}

// A value that others read as well is put together too.
// CHECK-LABEL: func.func @two_readers(
// CHECK-COUNT-2: glow.slice %x
// CHECK: [[A:%.*]] = glow.concat
// CHECK: glow.reduce_max [[A]]
// CHECK: func.return [[A]]
func.func @two_readers(%x: tensor<2x16x128x128xf32>) -> (tensor<2x16x128x128xf32>, tensor<f32>) {
  %a = glow.relu %x : tensor<2x16x128x128xf32>
  %m = glow.reduce_max %a axes [0, 1, 2, 3] : tensor<f32>
  func.return %a, %m : tensor<2x16x128x128xf32>, tensor<f32>
}

// A reader may stand before nodes that are split; constants behind it come along.
// CHECK-LABEL: func.func @reader_between(
// CHECK: %s = glow.splat
// CHECK: [[A:%.*]] = glow.concat
// CHECK: [[C:%.*]] = glow.concat
// CHECK: %m = glow.reduce_max [[A]]
// CHECK: func.return [[C]], %m
func.func @reader_between(%x: tensor<2x16x128x128xf32>) -> (tensor<2x16x128x128xf32>, tensor<f32>) {
  %a = glow.relu %x : tensor<2x16x128x128xf32>
  %m = glow.reduce_max %a axes [0, 1, 2, 3] : tensor<f32>
  %s = glow.splat 0.5 : tensor<16x1x3x3xf32>
  %c = glow.conv2d %a, %s group 16 pads [1, 1, 1, 1] : tensor<2x16x128x128xf32>
  func.return %c, %m : tensor<2x16x128x128xf32>, tensor<f32>
}

// One image has no parts.
// CHECK-LABEL: func.func @one(
// CHECK-NOT: glow.slice
// CHECK: func.return
func.func @one(%x: tensor<1x16x256x256xf32>) -> tensor<1x16x256x256xf32> {
  %a = glow.relu %x : tensor<1x16x256x256xf32>
  func.return %a : tensor<1x16x256x256xf32>
}

// What fits the cache stays whole.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: glow.slice
// CHECK: func.return
func.func @small(%x: tensor<4x8x16x16xf32>) -> tensor<4x8x16x16xf32> {
  %a = glow.relu %x : tensor<4x8x16x16xf32>
  func.return %a : tensor<4x8x16x16xf32>
}

// A node that mixes images, and what reads it, stay whole.
// CHECK-LABEL: func.func @mixing(
// CHECK-NOT: glow.slice
// CHECK: func.return
func.func @mixing(%x: tensor<4x8x128x128xf32>) -> tensor<4x8x128x128xf32> {
  %m = glow.reduce_mean %x axes [0] keepdims : tensor<1x8x128x128xf32>
  %a = glow.sub %x, %m : tensor<4x8x128x128xf32>
  func.return %a : tensor<4x8x128x128xf32>
}

// Weights that every part would read again outweigh the planes.
// CHECK-LABEL: func.func @heavy(
// CHECK-NOT: glow.slice
// CHECK: func.return
func.func @heavy(%x: tensor<4x512x14x14xf32>) -> tensor<4x512x14x14xf32> {
  %w = glow.splat 0.01 : tensor<512x512x3x3xf32>
  %c = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<4x512x14x14xf32>
  func.return %c : tensor<4x512x14x14xf32>
}
