// RUN: glow-opt --fold-pads %s | filecheck %s

// CHECK-LABEL: func.func @convolution(
// CHECK-NEXT: %0 = glow.conv2d %x, %w pads [1, 1, 2, 1] : tensor<1x3x5x4xf32>
// CHECK-NEXT: func.return %0 : tensor<1x3x5x4xf32>
func.func @convolution(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x5x4xf32> {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 0] : tensor<1x2x6x5xf32>
  %1 = glow.conv2d %0, %w pads [0, 0, 1, 1] : tensor<1x3x5x4xf32>
  func.return %1 : tensor<1x3x5x4xf32>
}

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %0 = glow.avg_pool2d %x count_include_pad kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x3x3xf32>
func.func @mean(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32> {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x2x6x6xf32>
  %1 = glow.avg_pool2d %0 kernel [2, 2] strides [2, 2] count_include_pad : tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @maximum(
// CHECK-NEXT: %0 = glow.max_pool2d %x kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x3x3xf32>
func.func @maximum(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32> {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value -inf : tensor<1x2x6x6xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @pieces(
// CHECK-NEXT: %0 = glow.concat %x, %y, %x axis 1 : tensor<2x8xf32>
// CHECK-NEXT: func.return %0 : tensor<2x8xf32>
func.func @pieces(%x: tensor<2x2xf32>, %y: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %0 = glow.pad %y pads [0, 2, 0, 2] : tensor<2x8xf32>
  %1 = glow.pad %x pads [0, 6, 0, 0] : tensor<2x8xf32>
  %2 = glow.add %0, %1 : tensor<2x8xf32>
  %3 = glow.pad %x pads [0, 0, 0, 6] : tensor<2x8xf32>
  %4 = glow.add %2, %3 : tensor<2x8xf32>
  func.return %4 : tensor<2x8xf32>
}
