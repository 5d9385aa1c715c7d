// RUN: glow-opt --shrink-convolutions %s | filecheck %s

// The strides of one step say nothing.
// CHECK-LABEL: func.func @strides(
// CHECK-NEXT: %w = glow.constant dense<[[[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x1x1x1xf32>
// CHECK-NEXT: func.return %0 : tensor<1x1x1x1xf32>
func.func @strides(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0 = glow.conv2d %x, %w strides [2, 2] : tensor<1x1x1x1xf32>
  func.return %0 : tensor<1x1x1x1xf32>
}

// Those of one axis alone, of a filter with dilation.
// CHECK-LABEL: func.func @strides_of_rows(
// CHECK: glow.conv2d %x, %w strides [1, 2] dilations [2, 1] : tensor<1x1x1x2xf32>
func.func @strides_of_rows(%x: tensor<1x1x3x4xf32>) -> tensor<1x1x1x2xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0 = glow.conv2d %x, %w strides [2, 2] dilations [2, 1] : tensor<1x1x1x2xf32>
  func.return %0 : tensor<1x1x1x2xf32>
}

// Rows and columns that lie in the padding.
// CHECK-LABEL: func.func @hidden_weights(
// CHECK-NEXT: %0 = glow.constant dense<[[[[5.000000e+00], [8.000000e+00]]]]> : tensor<1x1x2x1xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %0 : tensor<1x1x1x1xf32>
// CHECK-NEXT: func.return %1 : tensor<1x1x1x1xf32>
func.func @hidden_weights(%x: tensor<1x1x2x1xf32>) -> tensor<1x1x1x1xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 0, 1] strides [2, 2] : tensor<1x1x1x1xf32>
  func.return %0 : tensor<1x1x1x1xf32>
}

// A filter that is seen as a whole stays the same constant, whatever its shape.
// CHECK-LABEL: func.func @wide(
// CHECK-NEXT: %w = glow.constant dense<[[[[1.000000e+00, 2.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x3xf32>
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x1x1x1xf32>
// CHECK-NEXT: func.return
func.func @wide(%x: tensor<1x1x1x3xf32>) -> tensor<1x1x1x1xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %0 = glow.conv2d %x, %w strides [1, 2] : tensor<1x1x1x1xf32>
  func.return %0 : tensor<1x1x1x1xf32>
}

// Weights so far apart that all but the middle ones meet padding alone, at every place.
// CHECK-LABEL: func.func @far(
// CHECK-NEXT: %0 = glow.constant dense<[[[[4.000000e+00, 5.000000e+00, 6.000000e+00]]]]> : tensor<1x1x1x3xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %0 pads [0, 3, 0, 3] dilations [1, 3] : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %1 : tensor<1x1x4x4xf32>
func.func @far(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %0 = glow.conv2d %x, %w pads [4, 3, 4, 3] dilations [4, 3] : tensor<1x1x4x4xf32>
  func.return %0 : tensor<1x1x4x4xf32>
}

// The first column is before the image at both places, at a distance that keeps some padding.
// CHECK-LABEL: func.func @one_side(
// CHECK-NEXT: %0 = glow.constant dense<[[[[2.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %0 strides [1, 2] pads [0, 2, 0, 1] dilations [1, 3] : tensor<1x1x1x2xf32>
// CHECK-NEXT: func.return
func.func @one_side(%x: tensor<1x1x1x3xf32>) -> tensor<1x1x1x2xf32> {
  %w = glow.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %0 = glow.conv2d %x, %w pads [0, 5, 0, 1] strides [1, 2] dilations [1, 3] : tensor<1x1x1x2xf32>
  func.return %0 : tensor<1x1x1x2xf32>
}
