// RUN: glow-opt --shrink-convolutions %s | filecheck %s

// Two pixels; an image that goes on below the window; computed weights; dilation.
// CHECK-LABEL: func.func @keep(
// CHECK-NEXT: %w = glow.constant dense<[[[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x1x2x1xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %w strides [2, 2] : tensor<1x1x1x1xf32>
// CHECK-NEXT: %2 = glow.conv2d %x, %v strides [2, 2] : tensor<1x1x1x1xf32>
// CHECK-NEXT: %3 = glow.conv2d %x, %w strides [2, 2] dilations [2, 1] : tensor<1x1x1x1xf32>
// CHECK-NEXT: func.return %0, %1, %2, %3 : tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
func.func @keep(%x: tensor<1x1x3x2xf32>, %v: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %w = glow.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0 = glow.conv2d %x, %w : tensor<1x1x2x1xf32>
  %1 = glow.conv2d %x, %w strides [2, 2] : tensor<1x1x1x1xf32>
  %2 = glow.conv2d %x, %v strides [2, 2] : tensor<1x1x1x1xf32>
  %3 = glow.conv2d %x, %w dilations [2, 1] strides [2, 2] : tensor<1x1x1x1xf32>
  func.return %0, %1, %2, %3 : tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
