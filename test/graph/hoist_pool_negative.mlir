// RUN: glow-opt --hoist-pool %s | filecheck %s

// The mean of activated values is not the activated mean.
// CHECK-LABEL: func.func @activation(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @activation(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %y = glow.conv2d %x, %w activation "relu" : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}

// Zeros of the padding would count, but the bias would not.
// CHECK-LABEL: func.func @padding(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @padding(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>, %b: tensor<2xf32>) -> tensor<1x2x5x5xf32> {
  %y = glow.conv2d %x, %w, %b : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] count_include_pad : tensor<1x2x5x5xf32>
  func.return %z : tensor<1x2x5x5xf32>
}

// CHECK-LABEL: func.func @three_by_three(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @three_by_three(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %y = glow.conv2d %x, %w : tensor<1x2x6x6xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
  func.return %z : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @two_readers(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @two_readers(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x4x4xf32>) {
  %y = glow.conv2d %x, %w : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
  func.return %y, %z : tensor<1x2x8x8xf32>, tensor<1x2x4x4xf32>
}

// As many pixels as before: nothing to save.
// CHECK-LABEL: func.func @same_plane(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @same_plane(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32> {
  %y = glow.conv2d %x, %w : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [1, 1] : tensor<1x2x8x8xf32>
  func.return %z : tensor<1x2x8x8xf32>
}

// Zeros on one side of the convolution's image are pixels of the mean.
// CHECK-LABEL: func.func @padded_convolution(
// CHECK-NEXT: glow.conv2d
// CHECK-NEXT: glow.avg_pool2d
func.func @padded_convolution(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %y = glow.conv2d %x, %w pads [1, 0, 0, 0] : tensor<1x2x9x8xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}
