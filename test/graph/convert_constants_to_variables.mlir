// RUN: glow-opt --convert-constants-to-variables %s | filecheck %s
// RUN: glow-opt --convert-constants-to-variables='names=count,scale' %s | filecheck %s --check-prefix NAMES

// Weights of floats that have axes and a name; a number is none, nor is a nameless constant.
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: %w = glow.variable @fc1.weight initial @fc1.weight : tensor<4x4xf32>
// CHECK-NEXT: %b = glow.variable @b initial dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %scale = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %zeros = glow.variable @zeros : tensor<4xf32>
// CHECK-NEXT: %ones = glow.variable @ones initial dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %count = glow.constant dense<[1, 2]> : tensor<2xi64>
// CHECK-NEXT: %0 = glow.constant dense<[5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %q = glow.constant dense<[7, 9]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>

// NAMES-LABEL: func.func @weights(
// NAMES: glow.constant @fc1.weight
// NAMES: %scale = glow.variable @scale initial dense<2.000000e+00> : tensor<f32>
// NAMES: %count = glow.variable @count initial dense<[1, 2]> : tensor<2xi64>
func.func @weights(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = glow.constant @fc1.weight : tensor<4x4xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %scale = glow.splat 2.0 : tensor<f32>
  %zeros = glow.splat 0.0 : tensor<4xf32>
  %ones = glow.splat 1.0 : tensor<4xf32>
  %count = glow.constant dense<[1, 2]> : tensor<2xi64>
  %0 = glow.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %q = glow.constant dense<[7, 9]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 0.5>>
  %1 = glow.matmul %x, %w : tensor<2x4xf32>
  %2 = glow.add %1, %b : tensor<2x4xf32>
  %3 = glow.mul %2, %scale : tensor<2x4xf32>
  %4 = glow.add %3, %zeros : tensor<2x4xf32>
  %5 = glow.mul %4, %ones : tensor<2x4xf32>
  %6 = glow.add %5, %0 : tensor<2x4xf32>
  func.return %6 : tensor<2x4xf32>
}
