// RUN: glow-opt --reassociate %s | filecheck %s

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %0 = glow.constant dense<[2.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<2x2xf32>
// CHECK-NEXT: %2 = glow.constant dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %3 = glow.add %x, %2 : tensor<2x2xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<2x2xf32>, tensor<2x2xf32>
func.func @chain(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %two = glow.splat 2.0 : tensor<f32>
  %row = glow.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0 = glow.mul %x, %two : tensor<2x2xf32>
  %1 = glow.mul %row, %0 : tensor<2x2xf32>
  %2 = glow.sub %x, %row : tensor<2x2xf32>
  %3 = glow.add %2, %two : tensor<2x2xf32>
  func.return %1, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @into_weights(
// CHECK-NEXT: %0 = glow.constant dense<[1.600000e+01, 2.200000e+01]> : tensor<2xf32>
// CHECK-NEXT: %1 = glow.constant dense<[[2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]> : tensor<2x2xf32>
// CHECK-NEXT: %2 = glow.fully_connected %x, %1, %0 : tensor<2x2xf32>
// CHECK-NEXT: %3 = glow.constant dense<[[[[2.000000e+00]], [[6.000000e+00]]]]> : tensor<1x2x1x1xf32>
// CHECK-NEXT: %4 = glow.conv2d %i, %3 : tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return %2, %4 : tensor<2x2xf32>, tensor<1x1x2x2xf32>
func.func @into_weights(%x: tensor<2x2xf32>, %i: tensor<1x2x2x2xf32>) -> (tensor<2x2xf32>, tensor<1x1x2x2xf32>) {
  %row = glow.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %0 = glow.mul %x, %row : tensor<2x2xf32>
  %1 = glow.add %0, %row : tensor<2x2xf32>
  %2 = glow.fully_connected %1, %w, %b : tensor<2x2xf32>
  %channels = glow.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %v = glow.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %3 = glow.mul %i, %channels : tensor<1x2x2x2xf32>
  %4 = glow.conv2d %3, %v : tensor<1x1x2x2xf32>
  func.return %2, %4 : tensor<2x2xf32>, tensor<1x1x2x2xf32>
}

// Shifts of channels are biases.
// CHECK-LABEL: func.func @into_bias(
// CHECK-NEXT: %0 = glow.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %1 = glow.conv_transpose2d %x, %w, %0 : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %1 : tensor<1x2x3x3xf32>
func.func @into_bias(%x: tensor<1x2x2x2xf32>, %w: tensor<2x2x2x2xf32>) -> tensor<1x2x3x3xf32> {
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = glow.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = glow.conv_transpose2d %x, %w, %b : tensor<1x2x3x3xf32>
  %1 = glow.add %c, %0 : tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}
