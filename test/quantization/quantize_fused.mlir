// RUN: glow-opt --quantize='fidelity=fused' %s | filecheck %s
// RUN: glow-opt --quantize %s | filecheck %s --check-prefix=STRICT

// A network that comes quantized: the sum reads the product's accumulators as floats.
// CHECK-LABEL: func.func @main(
// CHECK: %c = glow.matmul %x, %w : tensor<2x2xf32>
// CHECK-NOT: quant.qcast %c
// CHECK: glow.add
// STRICT: %{{.*}} = glow.matmul %x, %w : tensor<2x2x!quant.uniform<u8:f32, 1.000000e+00>>
func.func @main(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<u8:f32, 2.0>> {
  %a = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %b = quant.dcast %w : tensor<2x2x!quant.uniform<i8:f32, 0.5>> to tensor<2x2xf32>
  %c = glow.matmul %a, %b : tensor<2x2xf32>
  %q = quant.qcast %c : tensor<2x2xf32> to tensor<2x2x!quant.uniform<u8:f32, 1.0>>
  %d = quant.dcast %q : tensor<2x2x!quant.uniform<u8:f32, 1.0>> to tensor<2x2xf32>
  %s = glow.add %d, %a : tensor<2x2xf32>
  %r = quant.qcast %s : tensor<2x2xf32> to tensor<2x2x!quant.uniform<u8:f32, 2.0>>
  func.return %r : tensor<2x2x!quant.uniform<u8:f32, 2.0>>
}
