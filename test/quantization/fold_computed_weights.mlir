// RUN: glow-opt --fold-computed-weights %s | filecheck %s
// RUN: glow-opt --quantize %s | filecheck %s --check-prefix=QUANTIZED

// A direction times a length: (2 - 1) * 0.5 * 4 / 0.25 and 3 more.
// CHECK-LABEL: func.func @weight_norm(
// CHECK-NEXT: %[[W:.*]] = glow.constant dense<[{{\[}}11, 3], [-5, 19]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 2.500000e-01:3>>
// CHECK-NEXT: %[[F:.*]] = quant.dcast %[[W]]
// CHECK-NEXT: %{{.*}} = quant.dcast %x
// CHECK-NEXT: glow.matmul %{{.*}}, %[[F]]
// QUANTIZED-LABEL: func.func @weight_norm(
// QUANTIZED-NEXT: %[[W:.*]] = glow.constant dense<[{{\[}}11, 3], [-5, 19]]>
// QUANTIZED-NEXT: %{{.*}} = glow.matmul %x, %[[W]] : tensor<3x2x!quant.uniform<u8:f32, 1.000000e+00>>
func.func @weight_norm(%x: tensor<3x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<u8:f32, 1.0>> {
  %v = glow.constant dense<[[2, 1], [0, 3]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %length = glow.constant dense<4.0> : tensor<f32>
  %0 = quant.dcast %v : tensor<2x2x!quant.uniform<i8:f32, 0.5:1>> to tensor<2x2xf32>
  %1 = glow.mul %0, %length : tensor<2x2xf32>
  %2 = quant.qcast %1 : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32, 0.25:3>>
  %3 = quant.dcast %2 : tensor<2x2x!quant.uniform<i8:f32, 0.25:3>> to tensor<2x2xf32>
  %4 = quant.dcast %x : tensor<3x2x!quant.uniform<u8:f32, 0.5>> to tensor<3x2xf32>
  %5 = glow.matmul %4, %3 : tensor<3x2xf32>
  %6 = quant.qcast %5 : tensor<3x2xf32> to tensor<3x2x!quant.uniform<u8:f32, 1.0>>
  func.return %6 : tensor<3x2x!quant.uniform<u8:f32, 1.0>>
}

// Casts on the way are computed, too: -5.8 is stored as -3 steps of two.
// CHECK-LABEL: func.func @rounded(
// CHECK-NEXT: %[[W:.*]] = glow.constant dense<[12, -4]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
// CHECK-NEXT: func.return %[[W]]
func.func @rounded() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %v = glow.constant dense<[-2.9, 1.2]> : tensor<2xf32>
  %0 = glow.add %v, %v : tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 2.0>>
  %2 = quant.dcast %1 : tensor<2x!quant.uniform<i8:f32, 2.0>> to tensor<2xf32>
  %3 = glow.neg %2 : tensor<2xf32>
  %4 = quant.qcast %3 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return %4 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}
