// RUN: glow-opt --shrink-convolutions %s | filecheck %s

// Two pixels; an image that goes on below the window, whose rows need their strides; computed
// weights.
// CHECK-LABEL: func.func @keep(
// CHECK-NEXT: %w = glow.constant dense<[[[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x1x2x1xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %w strides [2, 1] : tensor<1x1x1x1xf32>
// CHECK-NEXT: %2 = glow.conv2d %x, %v strides [2, 2] : tensor<1x1x1x1xf32>
// CHECK-NEXT: func.return %0, %1, %2 : tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
func.func @keep(%x: tensor<1x1x3x2xf32>, %v: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %w = glow.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0 = glow.conv2d %x, %w : tensor<1x1x2x1xf32>
  %1 = glow.conv2d %x, %w strides [2, 2] : tensor<1x1x1x1xf32>
  %2 = glow.conv2d %x, %v strides [2, 2] : tensor<1x1x1x1xf32>
  func.return %0, %1, %2 : tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}

// All rows of the filter meet padding alone, so that the result is zeros: another pass's.
// CHECK-LABEL: func.func @nothing_seen(
// CHECK: glow.conv2d %x, %w pads [3, 0, 3, 0] dilations [5, 1] : tensor<1x1x2x1xf32>
func.func @nothing_seen(%x: tensor<1x1x1x1xf32>) -> tensor<1x1x2x1xf32> {
  %w = glow.constant dense<[[[[1.0], [2.0]]]]> : tensor<1x1x2x1xf32>
  %0 = glow.conv2d %x, %w pads [3, 0, 3, 0] dilations [5, 1] : tensor<1x1x2x1xf32>
  func.return %0 : tensor<1x1x2x1xf32>
}

// Its first and its last weight are seen, the one between them is not; and the first of the
// second is hidden, without which the filter would start inside of the image.
// CHECK-LABEL: func.func @holes(
// CHECK: glow.conv2d %x, %w strides [1, 2] pads [0, 2, 0, 2] : tensor<1x1x1x2xf32>
// CHECK: glow.conv2d %y, %v strides [1, 3] pads [0, 1, 0, 0] dilations [1, 4] : tensor<1x1x1x1xf32>
func.func @holes(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x1x6xf32>) -> (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) {
  %w = glow.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %0 = glow.conv2d %x, %w pads [0, 2, 0, 2] strides [1, 2] : tensor<1x1x1x2xf32>
  %v = glow.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %1 = glow.conv2d %y, %v pads [0, 1, 0, 0] strides [1, 3] dilations [1, 4] : tensor<1x1x1x1xf32>
  func.return %0, %1 : tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>
}
