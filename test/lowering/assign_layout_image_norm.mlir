// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize %s | filecheck %s

// Channels of an image in blocks are normalized there.
// CHECK-LABEL: func.func @image(
// CHECK:       [[CONV:%.*]] = cpu.conv2d
// CHECK-NEXT:  glow.reduce_mean [[CONV]] axes [2, 3] keepdims : tensor<2x2x1x1x8xf32>
// CHECK-NEXT:  [[CENTRED:%.*]] = glow.sub [[CONV]], {{.*}} : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  [[SQUARES:%.*]] = glow.mul [[CENTRED]], [[CENTRED]] : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  glow.reduce_mean [[SQUARES]] axes [2, 3] keepdims : tensor<2x2x1x1x8xf32>
// CHECK:       glow.rsqrt {{.*}} : tensor<2x2x1x1x8xf32>
// CHECK-NEXT:  glow.mul [[CENTRED]], {{.*}} : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  cpu.unpack
func.func @image(%x: tensor<2x16x6x6xf32>) -> tensor<2x16x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %s = glow.splat 1.0 : tensor<6x6xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x6x6xf32>
  %1 = glow.layer_norm %0, %s axis 2 : tensor<2x16x6x6xf32>
  func.return %1 : tensor<2x16x6x6xf32>
}

// So are those of one volume, over its images.
// CHECK-LABEL: func.func @volume(
// CHECK:       [[CONV:%.*]] = cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  glow.reduce_mean [[CONV]] axes [0, 2, 3] keepdims : tensor<1x2x1x1x8xf32>
// CHECK-NOT:   glow.layer_norm
// CHECK:       func.return
func.func @volume(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x3x3x3xf32>
  %s = glow.splat 1.0 : tensor<4x6x6xf32>
  %0 = glow.conv3d %x, %w pads [1, 1, 1, 1, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.layer_norm %0, %s axis 2 : tensor<1x16x4x6x6xf32>
  func.return %1 : tensor<1x16x4x6x6xf32>
}

// Images that are not in blocks, scales of pixels, and images of several volumes have rows.
// CHECK-LABEL: func.func @rows(
// CHECK:       glow.layer_norm
// CHECK:       glow.layer_norm
// CHECK:       glow.layer_norm
func.func @rows(%x: tensor<2x16x6x6xf32>, %v: tensor<2x3x4x6x6xf32>, %p: tensor<6x6xf32>) -> (tensor<2x16x6x6xf32>, tensor<2x16x6x6xf32>, tensor<2x16x4x6x6xf32>) {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %d = glow.splat 0.25 : tensor<16x3x3x3x3xf32>
  %s = glow.splat 1.0 : tensor<6x6xf32>
  %t = glow.splat 1.0 : tensor<4x6x6xf32>
  %0 = glow.layer_norm %x, %s axis 2 : tensor<2x16x6x6xf32>
  %1 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x6x6xf32>
  %2 = glow.layer_norm %1, %p axis 2 : tensor<2x16x6x6xf32>
  %3 = glow.conv3d %v, %d pads [1, 1, 1, 1, 1, 1] : tensor<2x16x4x6x6xf32>
  %4 = glow.layer_norm %3, %t axis 2 : tensor<2x16x4x6x6xf32>
  func.return %0, %2, %4 : tensor<2x16x6x6xf32>, tensor<2x16x6x6xf32>, tensor<2x16x4x6x6xf32>
}

// Groups of channels that fill blocks are rows in blocks, too.
// CHECK-LABEL: func.func @groups(
// CHECK:       [[CONV:%.*]] = cpu.conv2d
// CHECK-NEXT:  [[ROWS:%.*]] = glow.reshape [[CONV]] : tensor<2x2x288xf32>
// CHECK-NEXT:  [[NORM:%.*]] = glow.layer_norm [[ROWS]], {{.*}} axis 2 : tensor<2x2x288xf32>
// CHECK-NEXT:  [[BLOCKS:%.*]] = glow.reshape [[NORM]] : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  [[RELU:%.*]] = glow.relu [[BLOCKS]] : tensor<2x2x6x6x8xf32>
// CHECK-NEXT:  cpu.unpack [[RELU]] channels 16 : tensor<2x16x6x6xf32>
func.func @groups(%x: tensor<2x16x6x6xf32>) -> tensor<2x16x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %s = glow.splat 1.0 : tensor<288xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x6x6xf32>
  %1 = glow.reshape %0 : tensor<2x2x288xf32>
  %2 = glow.layer_norm %1, %s axis 2 : tensor<2x2x288xf32>
  %3 = glow.reshape %2 : tensor<2x16x6x6xf32>
  %4 = glow.relu %3 : tensor<2x16x6x6xf32>
  func.return %4 : tensor<2x16x6x6xf32>
}

// Groups that fill no block, parts of channels, and scales of elements are rows of plain images.
// CHECK-LABEL: func.func @other_groups(
// CHECK:       cpu.unpack
// CHECK:       glow.layer_norm
// CHECK:       glow.layer_norm
// CHECK:       glow.layer_norm
func.func @other_groups(%x: tensor<2x16x6x6xf32>, %p: tensor<288xf32>) -> (tensor<2x4x144xf32>, tensor<2x32x18xf32>, tensor<2x2x288xf32>) {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %s = glow.splat 1.0 : tensor<144xf32>
  %t = glow.splat 1.0 : tensor<18xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x6x6xf32>
  %1 = glow.reshape %0 : tensor<2x4x144xf32>
  %2 = glow.layer_norm %1, %s axis 2 : tensor<2x4x144xf32>
  %3 = glow.reshape %0 : tensor<2x32x18xf32>
  %4 = glow.layer_norm %3, %t axis 2 : tensor<2x32x18xf32>
  %5 = glow.reshape %0 : tensor<2x2x288xf32>
  %6 = glow.layer_norm %5, %p axis 2 : tensor<2x2x288xf32>
  func.return %2, %4, %6 : tensor<2x4x144xf32>, tensor<2x32x18xf32>, tensor<2x2x288xf32>
}
