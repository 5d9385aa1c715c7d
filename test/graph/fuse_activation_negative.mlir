// RUN: glow-opt --fuse-activation %s | filecheck %s

// The convolution has another reader.
// CHECK-LABEL: func.func @two_uses(
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
// CHECK-NEXT: %z = glow.relu %y : tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %y, %z : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
func.func @two_uses(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
  %z = glow.relu %y : tensor<1x4x8x8xf32>
  func.return %y, %z : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// It has an activation already.
// CHECK-LABEL: func.func @second_activation(
// CHECK-NEXT: %y = glow.conv2d %x, %w activation "relu" : tensor<1x4x8x8xf32>
// CHECK-NEXT: %z = glow.tanh %y : tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x8x8xf32>
func.func @second_activation(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %y = glow.conv2d %x, %w activation "relu" : tensor<1x4x8x8xf32>
  %z = glow.tanh %y : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}

// Not an absorbable function, not a producer that absorbs.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
// CHECK-NEXT: %z = glow.exp %y : tensor<1x4x8x8xf32>
// CHECK-NEXT: %r = glow.relu %z : tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %r : tensor<1x4x8x8xf32>
func.func @others(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
  %z = glow.exp %y : tensor<1x4x8x8xf32>
  %r = glow.relu %z : tensor<1x4x8x8xf32>
  func.return %r : tensor<1x4x8x8xf32>
}
