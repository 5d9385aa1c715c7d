// RUN: glow-opt --fold-storage-casts %s | filecheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: %[[R:.*]] = glow.reshape %x : tensor<2x2x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT: func.return %[[R]]
func.func @reshape(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.scast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xui8>
  %1 = glow.reshape %0 : tensor<2x2xui8>
  %2 = glow.scast %1 : tensor<2x2xui8> to tensor<2x2x!quant.uniform<u8:f32, 0.5>>
  func.return %2 : tensor<2x2x!quant.uniform<u8:f32, 0.5>>
}

// Other parameters: the integers are read anew.
// CHECK-LABEL: func.func @reinterpreted(
// CHECK-NEXT: glow.scast %x
// CHECK-NEXT: glow.scast
func.func @reinterpreted(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.scast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xui8>
  %1 = glow.scast %0 : tensor<4xui8> to tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}
