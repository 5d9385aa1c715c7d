// RUN: glow-opt --repeat-constants='target=avx512' %s | filecheck %s

// Rows of three channels become rows of twelve elements.
// CHECK-LABEL: func.func @channels_last(
// CHECK:      %[[C:.*]] = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00], [1.000000e+00, 2.000000e+00, 3.000000e+00], {{.*}}> : tensor<4x3xf32>
// CHECK-NEXT: %[[M:.*]] = glow.mul %x, %[[C]] : tensor<1x2x4x3xf32>
// CHECK-NEXT: glow.add %[[M]], %[[C]] : tensor<1x2x4x3xf32>
func.func @channels_last(%x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %c = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = glow.mul %x, %c : tensor<1x2x4x3xf32>
  %1 = glow.add %0, %c : tensor<1x2x4x3xf32>
  func.return %1 : tensor<1x2x4x3xf32>
}

// A single number is repeated already.
// CHECK-LABEL: func.func @with_number(
// CHECK:      glow.constant {{.*}} : tensor<4x3xf32>
// CHECK-NEXT: glow.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2x4x3xf32>
func.func @with_number(%p: tensor<1x2x4x3xi1>) -> tensor<1x2x4x3xf32> {
  %c = glow.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %n = glow.splat 5.0 : tensor<f32>
  %0 = glow.select %p, %c, %n : tensor<1x2x4x3xf32>
  func.return %0 : tensor<1x2x4x3xf32>
}
