// RUN: glow-opt --optimize-graph %s | filecheck %s

// Functions are found before their constants move on: 0.5 belongs to GELU, not to the
// layer, while the scale in front of the layer goes into its weights.
// CHECK-LABEL: func.func @recognised_first(
// CHECK-NEXT: %0 = glow.gelu %x : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.constant dense<[[3.000000e+00], [6.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: %2 = glow.fully_connected %0, %1 : tensor<2x1xf32>
// CHECK-NEXT: func.return %2 : tensor<2x1xf32>
func.func @recognised_first(%x: tensor<2x2xf32>) -> tensor<2x1xf32> {
  %root = glow.splat 1.4142135 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %three = glow.splat 3.0 : tensor<f32>
  %w = glow.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = glow.div %x, %root : tensor<2x2xf32>
  %1 = glow.erf %0 : tensor<2x2xf32>
  %2 = glow.add %1, %one : tensor<2x2xf32>
  %3 = glow.mul %x, %2 : tensor<2x2xf32>
  %4 = glow.mul %3, %half : tensor<2x2xf32>
  %5 = glow.mul %4, %three : tensor<2x2xf32>
  %6 = glow.fully_connected %5, %w : tensor<2x1xf32>
  func.return %6 : tensor<2x1xf32>
}

