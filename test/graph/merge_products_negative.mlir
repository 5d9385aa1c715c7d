// RUN: glow-opt --merge-products %s | filecheck %s

// Computed weights, another window, another activation, groups.
// CHECK-LABEL: func.func @differ(
// CHECK-NEXT: %w = glow.constant dense<[[[[3.000000e+00]], [[4.000000e+00]]], [[[5.000000e+00]], [[6.000000e+00]]]]> : tensor<2x2x1x1xf32>
// CHECK-NEXT: %g = glow.constant dense<[[[[3.000000e+00]]], [[[4.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT: %0 = glow.conv2d %x, %u : tensor<1x2x3x3xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %w : tensor<1x2x3x3xf32>
// CHECK-NEXT: %2 = glow.conv2d %x, %w activation "relu" : tensor<1x2x3x3xf32>
// CHECK-NEXT: %3 = glow.conv2d %x, %w strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %4 = glow.conv2d %x, %g group 2 : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %0, %1, %2, %3, %4 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>
func.func @differ(%x: tensor<1x2x3x3xf32>, %u: tensor<2x2x1x1xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>) {
  %w = glow.constant dense<[[[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<2x2x1x1xf32>
  %g = glow.constant dense<[[[[3.0]]], [[[4.0]]]]> : tensor<2x1x1x1xf32>
  %0 = glow.conv2d %x, %u : tensor<1x2x3x3xf32>
  %1 = glow.conv2d %x, %w : tensor<1x2x3x3xf32>
  %2 = glow.conv2d %x, %w activation "relu" : tensor<1x2x3x3xf32>
  %3 = glow.conv2d %x, %w strides [2, 2] : tensor<1x2x2x2xf32>
  %4 = glow.conv2d %x, %g group 2 : tensor<1x2x3x3xf32>
  func.return %0, %1, %2, %3, %4 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>
}

// The second input needs the first product.
// CHECK-LABEL: func.func @depends(
// CHECK-NEXT: %0 = glow.fully_connected %x, %w : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.fully_connected %0, %w : tensor<2x2xf32>
// CHECK-NEXT: func.return %1 : tensor<2x2xf32>
func.func @depends(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = glow.fully_connected %x, %w : tensor<2x2xf32>
  %1 = glow.fully_connected %0, %w : tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// One matrix, and biases that differ.
// CHECK-LABEL: func.func @other_bias(
// CHECK-NEXT: %b = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %c = glow.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %0 = glow.fully_connected %x, %w, %b : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.fully_connected %z, %w, %c : tensor<3x2xf32>
// CHECK-NEXT: %2 = glow.fully_connected %z, %w : tensor<3x2xf32>
// CHECK-NEXT: func.return
func.func @other_bias(%x: tensor<2x2xf32>, %z: tensor<3x2xf32>, %w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = glow.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = glow.fully_connected %x, %w, %b : tensor<2x2xf32>
  %1 = glow.fully_connected %z, %w, %c : tensor<3x2xf32>
  %2 = glow.fully_connected %z, %w : tensor<3x2xf32>
  func.return %0, %1, %2 : tensor<2x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}
