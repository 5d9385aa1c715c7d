// RUN: glow-opt --fuse-activation %s | filecheck %s

// CHECK-LABEL: func.func @relu(
// CHECK-NEXT: %z = glow.conv2d %x, %w activation "relu" : tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x8x8xf32>
func.func @relu(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
  %z = glow.relu %y : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: func.func @clip_with_bounds(
// CHECK-NEXT: %z = glow.fully_connected %x, %w, %b activation "clip" activation_args [0.000000e+00, 6.000000e+00] : tensor<2x4xf32>
// CHECK-NEXT: func.return %z : tensor<2x4xf32>
func.func @clip_with_bounds(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = glow.fully_connected %x, %w, %b : tensor<2x4xf32>
  %z = glow.clip %y low 0.0 high 6.0 : tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @leaky(
// CHECK-NEXT: %z = glow.conv2d %x, %w activation "leaky_relu" activation_args [1.250000e-01] : tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %z : tensor<1x4x8x8xf32>
func.func @leaky(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %y = glow.conv2d %x, %w : tensor<1x4x8x8xf32>
  %z = glow.leaky_relu %y alpha 0.125 : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}
