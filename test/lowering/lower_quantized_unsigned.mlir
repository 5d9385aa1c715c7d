// RUN: glow-opt --lower-quantized %s | filecheck %s

// Bytes that nobody clamped are read as they are.
// CHECK-LABEL: func.func @not_clamped(
// CHECK: %[[I:.*]] = glow.convert %{{.*}} : tensor<4xui8>
// CHECK: %[[F:.*]] = glow.convert %[[I]] : tensor<4xf32>
// CHECK: glow.relu %[[F]]
func.func @not_clamped(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %r = glow.round %x : tensor<4xf32>
  %w = glow.convert %r : tensor<4xi32>
  %i = glow.convert %w : tensor<4xui8>
  %q = glow.scast %i : tensor<4xui8> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  %s = glow.relu %q : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %s : tensor<4x!quant.uniform<u8:f32, 0.25>>
}
