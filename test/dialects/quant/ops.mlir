// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  // CHECK-NEXT: %s = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> to tensor<4xi8>
  %s = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xi8>
  // CHECK-NEXT: %t = quant.scast %s : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %t = quant.scast %s : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  // CHECK-NEXT: %r = quant.dcast %t : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> to tensor<4xf32>
  %r = quant.dcast %t : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @types
func.func @types(
  // A zero point of 0 and a full storage range are not spelled.
  // CHECK-SAME: %a: tensor<2x!quant.uniform<i8:f32, 2.500000e-01>>
  %a: tensor<2x!quant.uniform<i8:f32, 0.25:0>>,
  // CHECK-SAME: %b: tensor<2x!quant.uniform<u8:f32, 2.500000e-01:128>>
  %b: tensor<2x!quant.uniform<u8<0:255>:f32, 0.25:128>>,
  // CHECK-SAME: %c: tensor<2x!quant.uniform<i8<-127:127>:f32, 2.500000e-01>>
  %c: tensor<2x!quant.uniform<i8<-127:127>:f32, 0.25>>,
  // CHECK-SAME: %d: tensor<2x3x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01:-1}>>
  %d: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25:-1}>>,
  // CHECK-SAME: %e: tensor<2x!quant.uniform<i16:f16, 1.000000e-03>>
  %e: tensor<2x!quant.uniform<i16:f16, 0.001>>
) {
  func.return
}
