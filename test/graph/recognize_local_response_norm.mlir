// RUN: glow-opt --recognize-local-response-norm %s | filecheck %s

// As `lower-nodes` spells it, with the terms and the factors in another order.
// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: %y = glow.local_response_norm %x size 3 alpha 3.000000e+00 beta 5.000000e-01 offset 2.000000e+00 : tensor<2x5x4x4xf32>
// CHECK-NEXT: func.return %y
func.func @slices(%x: tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %s = glow.mul %x, %x : tensor<2x5x4x4xf32>
  %p = glow.pad %s pads [0, 1, 0, 0, 0, 1, 0, 0] : tensor<2x7x4x4xf32>
  %0 = glow.slice %p starts [0, 0, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %1 = glow.slice %p starts [0, 1, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %2 = glow.slice %p starts [0, 2, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %3 = glow.add %1, %2 : tensor<2x5x4x4xf32>
  %t = glow.add %0, %3 : tensor<2x5x4x4xf32>
  %4 = glow.mul %one, %t : tensor<2x5x4x4xf32>
  %b = glow.add %two, %4 : tensor<2x5x4x4xf32>
  %5 = glow.pow %b, %half : tensor<2x5x4x4xf32>
  %y = glow.div %x, %5 : tensor<2x5x4x4xf32>
  func.return %y : tensor<2x5x4x4xf32>
}

// A window of StableHLO along channels, and a negative power.
// CHECK-LABEL: func.func @windows(
// CHECK-NEXT: %y = glow.local_response_norm %x size 2 alpha 4.000000e+00 : tensor<2x5x3x4xf32>
// CHECK-NEXT: func.return %y
func.func @windows(%x: tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %power = glow.splat -0.75 : tensor<f32>
  %s = glow.pow %x, %two : tensor<2x5x3x4xf32>
  %0 = glow.transpose %s permutation [0, 2, 3, 1] : tensor<2x3x4x5xf32>
  %1 = glow.reshape %0 : tensor<24x1x1x5xf32>
  %2 = glow.avg_pool2d %1 count_include_pad kernel [1, 2] pads [0, 0, 0, 1] : tensor<24x1x1x5xf32>
  %3 = glow.mul %2, %two : tensor<24x1x1x5xf32>
  %4 = glow.reshape %3 : tensor<2x3x4x5xf32>
  %5 = glow.transpose %4 permutation [0, 3, 1, 2] : tensor<2x5x3x4xf32>
  %6 = glow.mul %5, %two : tensor<2x5x3x4xf32>
  %b = glow.add %6, %one : tensor<2x5x3x4xf32>
  %7 = glow.pow %b, %power : tensor<2x5x3x4xf32>
  %y = glow.mul %7, %x : tensor<2x5x3x4xf32>
  func.return %y : tensor<2x5x3x4xf32>
}
