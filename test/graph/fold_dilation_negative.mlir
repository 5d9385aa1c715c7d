// RUN: glow-opt --fold-dilation %s | filecheck %s

// Rows and columns change places on the way.
// CHECK-LABEL: func.func @another_order(
// CHECK-NEXT: %0 = glow.reshape %x : tensor<1x3x2x2x2x2xf32>
// CHECK-NEXT: %1 = glow.transpose %0 permutation [5, 3, 0, 1, 2, 4] : tensor<2x2x1x3x2x2xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<4x3x2x2xf32>
// CHECK-NEXT: %3 = glow.conv2d %2, %w pads [1, 1, 1, 1] : tensor<4x2x2x2xf32>
// CHECK-NEXT: %4 = glow.reshape %3 : tensor<2x2x1x2x2x2xf32>
// CHECK-NEXT: %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1] : tensor<1x2x2x2x2x2xf32>
// CHECK-NEXT: %6 = glow.reshape %5 : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %6 : tensor<1x2x4x4xf32>
func.func @another_order(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %0 = glow.reshape %x : tensor<1x3x2x2x2x2xf32>
  %1 = glow.transpose %0 permutation [5, 3, 0, 1, 2, 4] : tensor<2x2x1x3x2x2xf32>
  %2 = glow.reshape %1 : tensor<4x3x2x2xf32>
  %3 = glow.conv2d %2, %w pads [1, 1, 1, 1] : tensor<4x2x2x2xf32>
  %4 = glow.reshape %3 : tensor<2x2x1x2x2x2xf32>
  %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1] : tensor<1x2x2x2x2x2xf32>
  %6 = glow.reshape %5 : tensor<1x2x4x4xf32>
  func.return %6 : tensor<1x2x4x4xf32>
}

// A strided convolution leaves a smaller plane.
// CHECK-LABEL: func.func @strides(
// CHECK-NEXT: %0 = glow.reshape %x : tensor<1x3x2x2x2x2xf32>
// CHECK-NEXT: %1 = glow.transpose %0 permutation [3, 5, 0, 1, 2, 4] : tensor<2x2x1x3x2x2xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<4x3x2x2xf32>
// CHECK-NEXT: %3 = glow.conv2d %2, %w strides [2, 2] : tensor<4x2x1x1xf32>
// CHECK-NEXT: %4 = glow.reshape %3 : tensor<2x2x1x2x1x1xf32>
// CHECK-NEXT: %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1] : tensor<1x2x1x2x1x2xf32>
// CHECK-NEXT: %6 = glow.reshape %5 : tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %6 : tensor<1x2x2x2xf32>
func.func @strides(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x2x2x2xf32> {
  %0 = glow.reshape %x : tensor<1x3x2x2x2x2xf32>
  %1 = glow.transpose %0 permutation [3, 5, 0, 1, 2, 4] : tensor<2x2x1x3x2x2xf32>
  %2 = glow.reshape %1 : tensor<4x3x2x2xf32>
  %3 = glow.conv2d %2, %w strides [2, 2] : tensor<4x2x1x1xf32>
  %4 = glow.reshape %3 : tensor<2x2x1x2x1x1xf32>
  %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1] : tensor<1x2x1x2x1x2xf32>
  %6 = glow.reshape %5 : tensor<1x2x2x2xf32>
  func.return %6 : tensor<1x2x2x2xf32>
}
