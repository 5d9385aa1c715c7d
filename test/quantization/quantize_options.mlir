// RUN: glow-opt --quantize='schema=symmetric per-channel=false' %s 2>/dev/null | filecheck %s --check-prefix=SYMMETRIC
// RUN: glow-opt --quantize='schema=power-of-two' %s 2>/dev/null | filecheck %s --check-prefix=POWER
// RUN: glow-opt --quantize='precision=int16' %s 2>/dev/null | filecheck %s --check-prefix=WIDE
// RUN: glow-opt --quantize='activations=per-row' %s | filecheck %s --check-prefix=ROWS
// RUN: glow-opt --quantize='keep=y' %s | filecheck %s --check-prefix=KEEP
// RUN: glow-opt --quantize='requantize=fixed' %s 2>/dev/null | filecheck %s --check-prefix=FIXED

// SYMMETRIC: quant.qcast %x : tensor<2x2xf32> to tensor<2x2x!quant.uniform<i8:f32, {{[0-9.]+}}>>
// SYMMETRIC: glow.constant dense<{{.*}}> : tensor<2x3xi8> as tensor<2x3x!quant.uniform<i8<-127:127>:f32, 0.015748031437397003>>
// POWER: to tensor<2x2x!quant.uniform<i8:f32, {{0.03125|1.5625[0]*e-02|3.125[0]*e-02}}
// POWER: {7.812500e-03, 1.562500e-02, 3.125000e-02}
// WIDE: to tensor<2x2x!quant.uniform<i16:f32,
// ROWS: %y = glow.dynamic_matmul %x, %{{.*}} : tensor<2x3xf32>
// KEEP: %y = glow.fully_connected %x, %m : tensor<2x3xf32>
// FIXED: builtin.module attributes {{{.*}}glow.requantize = "fixed"
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %m = glow.constant dense<[[0.5, 1.0, 2.0], [0.25, -1.0, 0.5]]> : tensor<2x3xf32>
  %y = glow.fully_connected %x, %m : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
