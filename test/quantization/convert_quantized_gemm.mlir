// RUN: glow-opt --convert-quantized-gemm --fold-casts %s | filecheck %s

// CHECK: %[[W:.*]] = glow.constant dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8> as tensor<3x2x!quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT: %[[F:.*]] = quant.dcast %[[W]]
// CHECK-NEXT: %{{.*}} = glow.fully_connected %x, %[[F]], %b : tensor<1x2xf32>
func.func @main(%x: tensor<1x3xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> as tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %0 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x3xf32>
  %1 = glow.gemm %x, %0, %b transpose_rhs : tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}
