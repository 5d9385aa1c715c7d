// RUN: glow-opt --fold-dilation %s | filecheck %s

// CHECK-LABEL: func.func @rate_two(
// CHECK-NEXT: %0 = glow.conv2d %x, %w, %b pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x4x6xf32>
func.func @rate_two(%x: tensor<1x3x4x6xf32>, %w: tensor<2x3x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x6xf32> {
  %0 = glow.reshape %x : tensor<1x3x2x2x3x2xf32>
  %1 = glow.transpose %0 permutation [3, 5, 0, 1, 2, 4] : tensor<2x2x1x3x2x3xf32>
  %2 = glow.reshape %1 : tensor<4x3x2x3xf32>
  %3 = glow.conv2d %2, %w, %b pads [1, 1, 1, 1] : tensor<4x2x2x3xf32>
  %4 = glow.reshape %3 : tensor<2x2x1x2x2x3xf32>
  %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1] : tensor<1x2x2x2x3x2xf32>
  %6 = glow.reshape %5 : tensor<1x2x4x6xf32>
  func.return %6 : tensor<1x2x4x6xf32>
}
