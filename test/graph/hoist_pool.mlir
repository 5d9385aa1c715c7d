// RUN: glow-opt --hoist-pool %s | filecheck %s

// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %0 = glow.avg_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x4x4x4xf32>
// CHECK-NEXT: %z = glow.conv2d %0, %w, %b : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x4x4xf32>
func.func @pointwise(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %y = glow.conv2d %x, %w, %b : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}

// Groups keep to themselves; `count_include_pad` says nothing without padding.
// CHECK-LABEL: func.func @groups(
// CHECK-NEXT: %0 = glow.avg_pool2d %x count_include_pad kernel [8, 8] : tensor<1x4x1x1xf32>
// CHECK-NEXT: %z = glow.conv2d %0, %w group 2 : tensor<1x2x1x1xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x1x1xf32>
func.func @groups(%x: tensor<1x4x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x1x1xf32> {
  %y = glow.conv2d %x, %w group 2 : tensor<1x2x8x8xf32>
  %z = glow.avg_pool2d %y kernel [8, 8] count_include_pad : tensor<1x2x1x1xf32>
  func.return %z : tensor<1x2x1x1xf32>
}
