// RUN: glow-opt --fold-batch-norm --free-unused-weights %s | filecheck %s

// scale 2 / sqrt(4 + 0) = 1 and -1; shift 1 - 3 * 1 = -2 and 0 - 0 = 0.
// CHECK-LABEL: func.func @conv(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}{{\[\[}}1.000000e+00]]], {{\[\[}}[-2.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT: %1 = glow.constant dense<[-2.000000e+00, 0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %z = glow.conv2d %x, %0, %1 : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x4x4xf32>
func.func @conv(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = glow.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %scale = glow.constant dense<[2.0, -2.0]> : tensor<2xf32>
  %bias = glow.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %mean = glow.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %variance = glow.constant dense<[4.0, 4.0]> : tensor<2xf32>
  %y = glow.conv2d %x, %w : tensor<1x2x4x4xf32>
  %z = glow.batch_norm %y, %scale, %bias, %mean, %variance epsilon 0.0 : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}

// A layer with a bias, then a scale and a shift.
// CHECK-LABEL: func.func @layer(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}2.000000e+00, 6.000000e+00], [6.000000e+00, 1.200000e+01]]> : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %z = glow.fully_connected %x, %0, %1 : tensor<1x2xf32>
// CHECK-NEXT: func.return %z : tensor<1x2xf32>
func.func @layer(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %factor = glow.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %y = glow.fully_connected %x, %w, %b : tensor<1x2xf32>
  %scaled = glow.mul %factor, %y : tensor<1x2xf32>
  %one = glow.splat 1.0 : tensor<f32>
  %z = glow.sub %scaled, %one : tensor<1x2xf32>
  func.return %z : tensor<1x2xf32>
}

// After a concatenation nothing can absorb it: three steps become two.
// CHECK-LABEL: func.func @preactivation(
// CHECK-NEXT: %x = glow.concat %a, %b axis 1 : tensor<1x2x4x4xf32>
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}[4.000000e+00]], {{\[\[}}-8.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT: %1 = glow.constant dense<{{\[\[}}[-8.000000e+00]], {{\[\[}}0.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT: %2 = glow.mul %x, %0 : tensor<1x2x4x4xf32>
// CHECK-NEXT: %z = glow.add %2, %1 : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x4x4xf32>
func.func @preactivation(%a: tensor<1x1x4x4xf32>, %b: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %scale = glow.constant dense<[2.0, -2.0]> : tensor<2xf32>
  %bias = glow.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %mean = glow.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %variance = glow.constant dense<[4.0, 4.0]> : tensor<2xf32>
  %x = glow.concat %a, %b axis 1 : tensor<1x2x4x4xf32>
  %y = glow.batch_norm %x, %scale, %bias, %mean, %variance epsilon 0.0 : tensor<1x2x4x4xf32>
  %factor = glow.constant dense<[[[4.0]], [[8.0]]]> : tensor<2x1x1xf32>
  %z = glow.mul %y, %factor : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}
