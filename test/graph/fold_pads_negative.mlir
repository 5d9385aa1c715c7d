// RUN: glow-opt --fold-pads %s | filecheck %s

// Other numbers than zero, other axes than the plane, other modes, cropping.
// CHECK-LABEL: func.func @not_zeros_around_the_plane(
// CHECK-NEXT: %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value 1.000000e+00 : tensor<1x2x6x6xf32>
// CHECK-NEXT: %1 = glow.conv2d %0, %w : tensor<1x3x4x4xf32>
// CHECK-NEXT: %2 = glow.pad %x pads [0, 1, 0, 0, 0, 0, 0, 0] : tensor<1x3x4x4xf32>
// CHECK-NEXT: %3 = glow.conv2d %2, %v : tensor<1x3x2x2xf32>
// CHECK-NEXT: %4 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] mode "edge" : tensor<1x2x6x6xf32>
// CHECK-NEXT: %5 = glow.conv2d %4, %w : tensor<1x3x4x4xf32>
// CHECK-NEXT: %6 = glow.pad %x pads [0, 0, 0, -1, 0, 0, 0, 0] : tensor<1x2x4x3xf32>
// CHECK-NEXT: %7 = glow.conv2d %6, %w : tensor<1x3x2x1xf32>
// CHECK-NEXT: func.return %1, %3, %5, %7 : tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>, tensor<1x3x4x4xf32>, tensor<1x3x2x1xf32>
func.func @not_zeros_around_the_plane(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>, %v: tensor<3x3x3x3xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>, tensor<1x3x4x4xf32>, tensor<1x3x2x1xf32>) {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value 1.0 : tensor<1x2x6x6xf32>
  %1 = glow.conv2d %0, %w : tensor<1x3x4x4xf32>
  %2 = glow.pad %x pads [0, 1, 0, 0, 0, 0, 0, 0] : tensor<1x3x4x4xf32>
  %3 = glow.conv2d %2, %v : tensor<1x3x2x2xf32>
  %4 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] mode "edge" : tensor<1x2x6x6xf32>
  %5 = glow.conv2d %4, %w : tensor<1x3x4x4xf32>
  %6 = glow.pad %x pads [0, 0, 0, -1, 0, 0, 0, 0] : tensor<1x2x4x3xf32>
  %7 = glow.conv2d %6, %w : tensor<1x3x2x1xf32>
  func.return %1, %3, %5, %7 : tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>, tensor<1x3x4x4xf32>, tensor<1x3x2x1xf32>
}

// A mean that does not count its padding; a maximum with zeros; windows of padding only.
// CHECK-LABEL: func.func @pools(
// CHECK-NEXT: %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x2x6x6xf32>
// CHECK-NEXT: %1 = glow.avg_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
// CHECK-NEXT: %2 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
// CHECK-NEXT: %3 = glow.pad %x pads [0, 0, 2, 2, 0, 0, 2, 2] value -inf : tensor<1x2x8x8xf32>
// CHECK-NEXT: %4 = glow.max_pool2d %3 kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %1, %2, %4 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>
func.func @pools(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>) {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x2x6x6xf32>
  %1 = glow.avg_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
  %2 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x3x3xf32>
  %3 = glow.pad %x pads [0, 0, 2, 2, 0, 0, 2, 2] value -inf : tensor<1x2x8x8xf32>
  %4 = glow.max_pool2d %3 kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
  func.return %1, %2, %4 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>
}

// Together with the pool's own padding a window would see nothing else; nor may columns.
// CHECK-LABEL: func.func @windows_of_padding(
// CHECK-NEXT: %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value -inf : tensor<1x2x6x6xf32>
// CHECK-NEXT: %1 = glow.max_pool2d %0 kernel [2, 2] pads [1, 1, 1, 1] : tensor<1x2x7x7xf32>
// CHECK-NEXT: %2 = glow.pad %x pads [0, 0, 0, 1, 0, 0, 0, 0] value -inf : tensor<1x2x4x5xf32>
// CHECK-NEXT: %3 = glow.max_pool2d %2 kernel [3, 1] : tensor<1x2x2x5xf32>
// CHECK-NEXT: func.return
func.func @windows_of_padding(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x7x7xf32>, tensor<1x2x2x5xf32>) {
  %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value -inf : tensor<1x2x6x6xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] pads [1, 1, 1, 1] : tensor<1x2x7x7xf32>
  %2 = glow.pad %x pads [0, 0, 0, 1, 0, 0, 0, 0] value -inf : tensor<1x2x4x5xf32>
  %3 = glow.max_pool2d %2 kernel [3, 1] : tensor<1x2x2x5xf32>
  func.return %1, %3 : tensor<1x2x7x7xf32>, tensor<1x2x2x5xf32>
}

// Pieces over each other, and pieces with nothing between them.
// CHECK-LABEL: func.func @no_pieces(
// CHECK-NOT: glow.concat
// CHECK: func.return
func.func @no_pieces(%x: tensor<2x2xf32>, %y: tensor<2x4xf32>) -> (tensor<2x5xf32>, tensor<2x7xf32>) {
  %0 = glow.pad %x pads [0, 0, 0, 3] : tensor<2x5xf32>
  %1 = glow.pad %y pads [0, 1, 0, 0] : tensor<2x5xf32>
  %2 = glow.add %0, %1 : tensor<2x5xf32>
  %3 = glow.pad %x pads [0, 0, 0, 5] : tensor<2x7xf32>
  %4 = glow.pad %y pads [0, 3, 0, 0] : tensor<2x7xf32>
  %5 = glow.add %3, %4 : tensor<2x7xf32>
  func.return %2, %5 : tensor<2x5xf32>, tensor<2x7xf32>
}
