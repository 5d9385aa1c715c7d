// RUN: glow-opt --fold-channel-shuffle %s | filecheck %s

// Outputs 0, 1 | 2, 3 of two groups become 0, 2, 1, 3.
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}{{\[\[}}1.000000e+00]], {{\[\[}}2.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}0.000000e+00]]], {{\[\[}}[0.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}5.000000e+00]], {{\[\[}}6.000000e+00]]], {{\[\[}}[3.000000e+00]], {{\[\[}}4.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}0.000000e+00]]], {{\[\[}}[0.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}7.000000e+00]], {{\[\[}}8.000000e+00]]]]> : tensor<4x4x1x1xf32>
// CHECK-NEXT: %1 = glow.constant dense<[1.000000e+00, 3.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %u = glow.conv2d %x, %0, %1 activation "relu" : tensor<1x4x2x2xf32>
// CHECK-NEXT: func.return %u : tensor<1x4x2x2xf32>
func.func @grouped(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %w = glow.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = glow.conv2d %x, %w, %b group 2 activation "relu" : tensor<1x4x2x2xf32>
  %s = glow.reshape %y : tensor<1x2x2x2x2xf32>
  %t = glow.transpose %s permutation [0, 2, 1, 3, 4] : tensor<1x2x2x2x2xf32>
  %u = glow.reshape %t : tensor<1x4x2x2xf32>
  func.return %u : tensor<1x4x2x2xf32>
}

// Between groups, the shuffle goes on to the next convolution; filters follow their channels.
// CHECK-LABEL: func.func @sinks(
// CHECK-NEXT: %v = glow.constant dense<1.000000e+00> : tensor<4x2x1x1xf32>
// CHECK-NEXT: %y = glow.conv2d %x, %v group 2 : tensor<1x4x2x2xf32>
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}{{\[\[}}1.000000e+00]]], {{\[\[}}[3.000000e+00]]], {{\[\[}}[2.000000e+00]]], {{\[\[}}[4.000000e+00]]]]> : tensor<4x1x1x1xf32>
// CHECK-NEXT: %1 = glow.constant dense<[5.000000e+00, 7.000000e+00, 6.000000e+00, 8.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %c = glow.conv2d %y, %0, %1 group 4 : tensor<1x4x2x2xf32>
// CHECK-NEXT: %m = glow.max_pool2d %c kernel [2, 2] : tensor<1x4x1x1xf32>
// CHECK-NEXT: %2 = glow.constant dense<{{\[\[}}{{\[\[}}1.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}2.000000e+00]], {{\[\[}}0.000000e+00]]], {{\[\[}}[0.000000e+00]], {{\[\[}}3.000000e+00]], {{\[\[}}0.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<2x4x1x1xf32>
// CHECK-NEXT: %z = glow.conv2d %m, %2 : tensor<1x2x1x1xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x1x1xf32>
func.func @sinks(%x: tensor<1x4x2x2xf32>) -> tensor<1x2x1x1xf32> {
  %v = glow.constant dense<1.0> : tensor<4x2x1x1xf32>
  %d = glow.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]]> : tensor<4x1x1x1xf32>
  %b = glow.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %w = glow.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %y = glow.conv2d %x, %v group 2 : tensor<1x4x2x2xf32>
  %s = glow.reshape %y : tensor<1x2x2x2x2xf32>
  %t = glow.transpose %s permutation [0, 2, 1, 3, 4] : tensor<1x2x2x2x2xf32>
  %u = glow.reshape %t : tensor<1x4x2x2xf32>
  %c = glow.conv2d %u, %d, %b group 4 : tensor<1x4x2x2xf32>
  %m = glow.max_pool2d %c kernel [2, 2] : tensor<1x4x1x1xf32>
  %z = glow.conv2d %m, %w group 2 : tensor<1x2x1x1xf32>
  func.return %z : tensor<1x2x1x1xf32>
}

// Another reader of the convolution; a transpose that moves pixels.
// CHECK-LABEL: func.func @negative(
// CHECK-NEXT: %w = glow.splat 1.000000e+00 : tensor<4x4x1x1xf32>
// CHECK-NEXT: %y = glow.conv2d %x, %w : tensor<1x4x2x2xf32>
// CHECK-NEXT: %s = glow.reshape %y : tensor<1x2x2x2x2xf32>
// CHECK-NEXT: %t = glow.transpose %s permutation [0, 2, 1, 3, 4] : tensor<1x2x2x2x2xf32>
// CHECK-NEXT: %u = glow.reshape %t : tensor<1x4x2x2xf32>
// CHECK-NEXT: %z = glow.conv2d %x, %w : tensor<1x4x2x2xf32>
// CHECK-NEXT: %a = glow.reshape %z : tensor<1x2x2x2x2xf32>
// CHECK-NEXT: %b = glow.transpose %a permutation [0, 2, 1, 4, 3] : tensor<1x2x2x2x2xf32>
// CHECK-NEXT: %c = glow.reshape %b : tensor<1x4x2x2xf32>
// CHECK-NEXT: func.return %y, %u, %c : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>
func.func @negative(%x: tensor<1x4x2x2xf32>) -> (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) {
  %w = glow.splat 1.0 : tensor<4x4x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x4x2x2xf32>
  %s = glow.reshape %y : tensor<1x2x2x2x2xf32>
  %t = glow.transpose %s permutation [0, 2, 1, 3, 4] : tensor<1x2x2x2x2xf32>
  %u = glow.reshape %t : tensor<1x4x2x2xf32>
  %z = glow.conv2d %x, %w : tensor<1x4x2x2xf32>
  %a = glow.reshape %z : tensor<1x2x2x2x2xf32>
  %b = glow.transpose %a permutation [0, 2, 1, 4, 3] : tensor<1x2x2x2x2xf32>
  %c = glow.reshape %b : tensor<1x4x2x2xf32>
  func.return %y, %u, %c : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>
}
