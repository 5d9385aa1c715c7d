// RUN: glow-opt --lower-quantized %s | filecheck %s

// Multipliers of an integer-only target: 0.5 / 0.25 is 2^30 / 2^29, so (x * 2^30 + 2^28) >> 29.
builtin.module attributes {glow.requantize = "fixed"} {
  func.func @main(%x: tensor<4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:7>> {
    %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 0.25:7>>
    func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.25:7>>
  }
}

// CHECK-LABEL: @main
// CHECK:      %1 = glow.convert %0 : tensor<4xi64>
// CHECK-NEXT: %2 = glow.splat 3
// CHECK-NEXT: %3 = glow.sub %1, %2
// CHECK-NEXT: %4 = glow.splat 1073741824 : tensor<i64>
// CHECK-NEXT: %5 = glow.mul %3, %4
// CHECK-NEXT: %6 = glow.splat 268435456 : tensor<i64>
// CHECK-NEXT: %7 = glow.add %5, %6
// CHECK-NEXT: %8 = glow.splat 536870912 : tensor<i64>
// CHECK-NEXT: %9 = glow.mod %7, %8
// CHECK-NEXT: %10 = glow.sub %7, %9
// CHECK-NEXT: %11 = glow.div %10, %8
// CHECK-NEXT: %12 = glow.convert %11 : tensor<4xf64>
// CHECK-NEXT: %13 = glow.clip %12 low -7.000000e+00 high 2.480000e+02
