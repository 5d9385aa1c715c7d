// RUN: glow-opt --lower-quantized %s | filecheck %s
// RUN: glow-opt --lower-quantized='backend=cpu' %s | filecheck %s --check-prefix KEPT

// Multipliers of an integer-only target. 0.5 / 0.25 is 2^30 / 2^29; of x, 4 bits higher, that is
// (x * 2^34 + 2^32) >> 33: of the upper half of the product (high + 1) >> 1.
builtin.module attributes {glow.requantize = "fixed"} {
  func.func @main(%x: tensor<4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:7>> {
    %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 0.25:7>>
    func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.25:7>>
  }

  // Sums of products have 31 bits: a multiplier of half a step or more needs 64 bits.
  func.func @large_multiplier(%x: tensor<1x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x1x!quant.uniform<u8:f32, 0.25>> {
    %w = glow.constant dense<[[3], [5]]> : tensor<2x1xi8> as tensor<2x1x!quant.uniform<i8:f32, 0.25>>
    %0 = glow.matmul %x, %w : tensor<1x1x!quant.uniform<u8:f32, 0.25>>
    func.return %0 : tensor<1x1x!quant.uniform<u8:f32, 0.25>>
  }

  // The sum reads what the product rounded, before it is stored.
  func.func @residual(%x: tensor<1x2x!quant.uniform<u8:f32, 0.5>>, %y: tensor<1x2x!quant.uniform<u8:f32, 0.5:9>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.25>> {
    %w = glow.constant dense<[[3, 1], [5, 2]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32:1, {0.0625, 0.03125}>>
    %0 = glow.matmul %x, %w : tensor<1x2x!quant.uniform<u8:f32, 0.25:128>>
    %1 = glow.add %0, %y : tensor<1x2x!quant.uniform<u8:f32, 0.25>>
    func.return %1 : tensor<1x2x!quant.uniform<u8:f32, 0.25>>
  }
}

// CHECK-LABEL: @main
// CHECK:      %1 = glow.convert %0 : tensor<4xi32>
// CHECK-NEXT: %2 = glow.splat 3
// CHECK-NEXT: %3 = glow.sub %1, %2
// CHECK-NEXT: %4 = glow.splat 1073741824 : tensor<i32>
// CHECK-NEXT: %5 = glow.splat 1 : tensor<i32>
// CHECK-NEXT: %6 = glow.splat 1 : tensor<i32>
// CHECK-NEXT: %7 = glow.fused %3, %4, %5, %6 {
// CHECK-NEXT: ^bb0(%8: i32, %9: i32, %10: i32, %11: i32):
// CHECK-NEXT:   %12 = arith.constant 4 : i32
// CHECK-NEXT:   %13 = arith.shli %8, %12
// CHECK-NEXT:   %14 = arith.extsi %13 : i32 to i64
// CHECK-NEXT:   %15 = arith.extsi %9 : i32 to i64
// CHECK-NEXT:   %16 = arith.muli %14, %15
// CHECK-NEXT:   %17 = arith.constant 32
// CHECK-NEXT:   %18 = arith.shrsi %16, %17
// CHECK-NEXT:   %19 = arith.trunci %18 : i64 to i32
// CHECK-NEXT:   %20 = arith.addi %19, %10
// CHECK-NEXT:   %21 = arith.shrsi %20, %11
// CHECK-NEXT:   glow.yield %21
// CHECK-NEXT: } : tensor<4xi32>
// CHECK-NEXT: %22 = glow.clip %7 low -7.000000e+00 high 2.480000e+02
// CHECK-NEXT: %23 = glow.splat 7 : tensor<i32>
// CHECK-NEXT: %24 = glow.add %22, %23
// CHECK-NEXT: %25 = glow.convert %24 : tensor<4xui8>

// KEPT-LABEL: @large_multiplier
// KEPT:      %[[SUM:.*]] = glow.matmul_integer
// KEPT:      %[[WIDE:.*]] = glow.fused %[[SUM]],
// KEPT:        arith.extsi {{.*}} : i32 to i64
// KEPT-NEXT:   arith.muli {{.*}} : i64
// KEPT-NEXT:   arith.addi {{.*}} : i64
// KEPT-NEXT:   arith.shrsi {{.*}} : i64
// KEPT:      } : tensor<1x1xi64>
// KEPT-NEXT: glow.clip %[[WIDE]] low 0.000000e+00 high 2.550000e+02 : tensor<1x1xi64>

// KEPT-LABEL: @residual
// KEPT:      glow.fused
// KEPT:      } : tensor<1x2xi32>
// KEPT-NEXT: %[[ROUNDED:.*]] = glow.clip {{.*}} low -1.280000e+02 high 1.270000e+02 : tensor<1x2xi32>
// KEPT-NOT:  ui8
// KEPT:      glow.fused %[[ROUNDED]],
