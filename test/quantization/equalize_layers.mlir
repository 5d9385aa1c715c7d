// RUN: glow-opt --equalize-layers %s | filecheck %s

// Channel 1 is 16 times as large where it is made and read with a sixteenth: both even out.
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = glow.constant dense<1.000000e+00> : tensor<3x1x1x1xf32>
// CHECK: %[[B:.*]] = glow.constant dense<[1.000000e+00, 2.500000e-01, 1.000000e+00]> : tensor<3xf32>
// CHECK: glow.conv2d %x, %[[W]], %[[B]] activation "relu"
// CHECK: %[[V:.*]] = glow.constant dense<1.000000e+00> : tensor<1x3x1x1xf32>
// CHECK: glow.conv2d %{{.*}}, %[[V]] :
func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.constant dense<[[[[1.0]]], [[[16.0]]], [[[1.0]]]]> : tensor<3x1x1x1xf32>
  %b = glow.constant dense<[1.0, 4.0, 1.0]> : tensor<3xf32>
  %v = glow.constant dense<[[[[1.0]], [[0.0625]], [[1.0]]]]> : tensor<1x3x1x1xf32>
  %0 = glow.conv2d %x, %w, %b activation "relu" : tensor<1x3x4x4xf32>
  %1 = glow.conv2d %0, %v : tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}

// Like ranges stay as they are.
// CHECK-LABEL: func.func @even(
// CHECK: glow.conv2d %x, %w activation "relu"
// CHECK: glow.conv2d %{{.*}}, %v :
func.func @even(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.constant dense<[[[[1.0]]], [[[2.0]]], [[[1.0]]]]> : tensor<3x1x1x1xf32>
  %v = glow.constant dense<[[[[1.0]], [[0.5]], [[1.0]]]]> : tensor<1x3x1x1xf32>
  %0 = glow.conv2d %x, %w activation "relu" : tensor<1x3x4x4xf32>
  %1 = glow.conv2d %0, %v : tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}

// Clipping at 6 does not commute with factors.
// CHECK-LABEL: func.func @clip(
// CHECK: glow.conv2d %x, %w activation "clip"
// CHECK: glow.conv2d %{{.*}}, %v :
func.func @clip(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.constant dense<[[[[1.0]]], [[[16.0]]], [[[1.0]]]]> : tensor<3x1x1x1xf32>
  %v = glow.constant dense<[[[[1.0]], [[0.0625]], [[1.0]]]]> : tensor<1x3x1x1xf32>
  %0 = glow.conv2d %x, %w activation "clip" activation_args [0.0, 6.0] : tensor<1x3x4x4xf32>
  %1 = glow.conv2d %0, %v : tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}
