// RUN: glow-opt --fold-batch-norm %s | filecheck %s

// The convolution's result is used elsewhere.
// CHECK-LABEL: func.func @two_uses(
// CHECK-NEXT: %w = glow.splat 1.000000e+00 : tensor<1x1x1x1xf32>
// CHECK-NEXT: %one = glow.splat 1.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x1x4x4xf32>
// CHECK-NEXT: %z = glow.batch_norm %y, %one, %one, %one, %one : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %y, %z : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
func.func @two_uses(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %w = glow.splat 1.0 : tensor<1x1x1x1xf32>
  %one = glow.splat 1.0 : tensor<1xf32>
  %y = glow.conv2d %x, %w : tensor<1x1x4x4xf32>
  %z = glow.batch_norm %y, %one, %one, %one, %one : tensor<1x1x4x4xf32>
  func.return %y, %z : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// The parameters are computed.
// CHECK-LABEL: func.func @computed(
// CHECK-NEXT: %w = glow.splat 1.000000e+00 : tensor<1x1x1x1xf32>
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x1x4x4xf32>
// CHECK-NEXT: %z = glow.batch_norm %y, %s, %s, %s, %s : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x1x4x4xf32>
func.func @computed(%x: tensor<1x1x4x4xf32>, %s: tensor<1xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.splat 1.0 : tensor<1x1x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x1x4x4xf32>
  %z = glow.batch_norm %y, %s, %s, %s, %s : tensor<1x1x4x4xf32>
  func.return %z : tensor<1x1x4x4xf32>
}

// An activation stands between.
// CHECK-LABEL: func.func @activation(
// CHECK-NEXT: %w = glow.splat 1.000000e+00 : tensor<1x1x1x1xf32>
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<1x1x1xf32>
// CHECK-NEXT: %y = glow.conv2d %x, %w activation "relu" : tensor<1x1x4x4xf32>
// CHECK-NEXT: %z = glow.mul %y, %two : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x1x4x4xf32>
func.func @activation(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.splat 1.0 : tensor<1x1x1x1xf32>
  %two = glow.splat 2.0 : tensor<1x1x1xf32>
  %y = glow.conv2d %x, %w activation "relu" : tensor<1x1x4x4xf32>
  %z = glow.mul %y, %two : tensor<1x1x4x4xf32>
  func.return %z : tensor<1x1x4x4xf32>
}

// One number for each row or pixel is not one for each channel; c / x is not affine.
// CHECK-LABEL: func.func @not_channels(
// CHECK-NEXT: %w = glow.splat 1.000000e+00 : tensor<2x2x1x1xf32>
// CHECK-NEXT: %rows = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x2x2x2xf32>
// CHECK-NEXT: %z = glow.mul %y, %rows : tensor<1x2x2x2xf32>
// CHECK-NEXT: %c = glow.conv2d %z, %w : tensor<1x2x2x2xf32>
// CHECK-NEXT: %d = glow.div %two, %c : tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %d : tensor<1x2x2x2xf32>
func.func @not_channels(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = glow.splat 1.0 : tensor<2x2x1x1xf32>
  %rows = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %two = glow.splat 2.0 : tensor<f32>
  %y = glow.conv2d %x, %w : tensor<1x2x2x2xf32>
  %z = glow.mul %y, %rows : tensor<1x2x2x2xf32>
  %c = glow.conv2d %z, %w : tensor<1x2x2x2xf32>
  %d = glow.div %two, %c : tensor<1x2x2x2xf32>
  func.return %d : tensor<1x2x2x2xf32>
}
