// RUN: glow-opt --reassociate %s | filecheck %s

// A larger constant would result; integers wrap; somebody else reads the first step.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %row = glow.constant dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %column = glow.constant dense<[[1.000000e+00], [3.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: %n = glow.splat 2 : tensor<2xi32>
// CHECK-NEXT: %0 = glow.mul %x, %row : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.mul %0, %column : tensor<2x2xf32>
// CHECK-NEXT: %2 = glow.mul %i, %n : tensor<2xi32>
// CHECK-NEXT: %3 = glow.mul %2, %n : tensor<2xi32>
// CHECK-NEXT: %4 = glow.add %x, %row : tensor<2x2xf32>
// CHECK-NEXT: %5 = glow.add %4, %row : tensor<2x2xf32>
// CHECK-NEXT: func.return %1, %3, %4, %5 : tensor<2x2xf32>, tensor<2xi32>, tensor<2x2xf32>, tensor<2x2xf32>
func.func @chain(%x: tensor<2x2xf32>, %i: tensor<2xi32>) -> (tensor<2x2xf32>, tensor<2xi32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %row = glow.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %column = glow.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %n = glow.splat 2 : tensor<2xi32>
  %0 = glow.mul %x, %row : tensor<2x2xf32>
  %1 = glow.mul %0, %column : tensor<2x2xf32>
  %2 = glow.mul %i, %n : tensor<2xi32>
  %3 = glow.mul %2, %n : tensor<2xi32>
  %4 = glow.add %x, %row : tensor<2x2xf32>
  %5 = glow.add %4, %row : tensor<2x2xf32>
  func.return %1, %3, %4, %5 : tensor<2x2xf32>, tensor<2xi32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A factor for each row; a shift in front of a convolution, whose padding stays zero.
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: %column = glow.constant dense<[[2.000000e+00], [3.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: %w = glow.constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %0 = glow.mul %x, %column : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.fully_connected %0, %w : tensor<2x2xf32>
// CHECK-NEXT: %channels = glow.constant dense<[[[2.000000e+00]], [[3.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT: %v = glow.constant dense<[[[[1.000000e+00]], [[2.000000e+00]]]]> : tensor<1x2x1x1xf32>
// CHECK-NEXT: %2 = glow.add %i, %channels : tensor<1x2x2x2xf32>
// CHECK-NEXT: %3 = glow.conv2d %2, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<2x2xf32>, tensor<1x1x4x4xf32>
func.func @weights(%x: tensor<2x2xf32>, %i: tensor<1x2x2x2xf32>) -> (tensor<2x2xf32>, tensor<1x1x4x4xf32>) {
  %column = glow.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = glow.mul %x, %column : tensor<2x2xf32>
  %1 = glow.fully_connected %0, %w : tensor<2x2xf32>
  %channels = glow.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %v = glow.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %2 = glow.add %i, %channels : tensor<1x2x2x2xf32>
  %3 = glow.conv2d %2, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  func.return %1, %3 : tensor<2x2xf32>, tensor<1x1x4x4xf32>
}

// A shift for each column is no bias.
// CHECK-LABEL: func.func @not_a_bias(
// CHECK-NEXT: %c = glow.constant dense<[2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %0 = glow.conv_transpose2d %x, %w : tensor<1x2x3x3xf32>
// CHECK-NEXT: %1 = glow.add %0, %c : tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %1 : tensor<1x2x3x3xf32>
func.func @not_a_bias(%x: tensor<1x2x2x2xf32>, %w: tensor<2x2x2x2xf32>) -> tensor<1x2x3x3xf32> {
  %c = glow.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %0 = glow.conv_transpose2d %x, %w : tensor<1x2x3x3xf32>
  %1 = glow.add %0, %c : tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}
