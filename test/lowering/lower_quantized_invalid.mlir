// RUN: ! glow-opt --lower-quantized %s 2>&1 | filecheck %s

// CHECK: error: {{.*}}fixed-point requantization is for integer-only targets; quantize with requantize=float, or use the interpreter
builtin.module attributes {glow.requantize = "fixed"} {
  func.func @main(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4xf32> {
    %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}
