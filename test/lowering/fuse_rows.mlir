// RUN: glow-opt --fuse-rows %s | filecheck %s
// RUN: glow-opt --fuse-rows --glow-to-instr --plan-memory --instr-to-loops='target=avx512' %s | filecheck %s --check-prefix LOOPS

// The gradient of softmax: one sum, between products.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %r = cpu.fused_rows %g, %p {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT: %3 = cpu.row_sum %2 : f32
// CHECK-NEXT: %4 = arith.subf %0, %3 : f32
// CHECK-NEXT: %5 = arith.mulf %4, %1 : f32
// CHECK-NEXT: glow.yield %5
// CHECK-NEXT: } : tensor<8x128x128xf32>
// CHECK-NEXT: func.return %r : tensor<8x128x128xf32>
// LOOPS: func.func private @fused_rows
func.func @softmax(%g: tensor<8x128x128xf32>, %p: tensor<8x128x128xf32>) -> tensor<8x128x128xf32> {
  %m = glow.mul %g, %p : tensor<8x128x128xf32>
  %s = glow.reduce_sum %m axes [2] keepdims : tensor<8x128x1xf32>
  %d = glow.sub %g, %s : tensor<8x128x128xf32>
  %r = glow.mul %d, %p : tensor<8x128x128xf32>
  func.return %r : tensor<8x128x128xf32>
}

// A mean that is written without the axis, a sum that waits for it, and others who read a
// number of each row and all of them. What they need moves before, what reads them behind.
// CHECK-LABEL: func.func @normalization(
// CHECK: %v, %n = cpu.fused_rows %x, %b {
// CHECK: cpu.row_sum
// CHECK: arith.subf
// CHECK: cpu.row_sum
// CHECK: arith.divf
// CHECK: glow.yield %{{[0-9]+}}, %{{[0-9]+}}
// CHECK-NEXT: } : tensor<6x1xf32>, tensor<6x50xf32>
// CHECK-NEXT: %t = glow.reduce_sum %n axes [0] : tensor<50xf32>
// CHECK-NEXT: func.return %v, %t, %n
func.func @normalization(%x: tensor<6x50xf32>, %c: tensor<50xf32>) -> (tensor<6x1xf32>, tensor<50xf32>, tensor<6x50xf32>) {
  %s = glow.reduce_mean %x axes [1] : tensor<6xf32>
  %k = glow.reshape %s : tensor<6x1xf32>
  %d = glow.sub %x, %k : tensor<6x50xf32>
  %q = glow.mul %d, %d : tensor<6x50xf32>
  %v = glow.reduce_mean %q axes [1] keepdims : tensor<6x1xf32>
  %w = glow.sqrt %v : tensor<6x1xf32>
  %e = glow.div %d, %w : tensor<6x50xf32>
  %b = glow.exp %c : tensor<50xf32>
  %n = glow.mul %e, %b : tensor<6x50xf32>
  %t = glow.reduce_sum %n axes [0] : tensor<50xf32>
  func.return %v, %t, %n : tensor<6x1xf32>, tensor<50xf32>, tensor<6x50xf32>
}

// Numbers of the rows that others compute are read with the axis only.
// CHECK-LABEL: func.func @numbers(
// CHECK-NEXT: %n = glow.exp %r : tensor<8xf32>
// CHECK-NEXT: %k = glow.reshape %n : tensor<8x1xf32>
// CHECK-NEXT: %v = cpu.fused_rows %x, %k {
func.func @numbers(%x: tensor<8x16xf32>, %r: tensor<8xf32>) -> (tensor<8x1xf32>, tensor<8xf32>) {
  %n = glow.exp %r : tensor<8xf32>
  %k = glow.reshape %n : tensor<8x1xf32>
  %m = glow.mul %x, %k : tensor<8x16xf32>
  %v = glow.reduce_sum %m axes [1] keepdims : tensor<8x1xf32>
  func.return %v, %n : tensor<8x1xf32>, tensor<8xf32>
}

// The sums are columns of a square matrix for the first reader, which stands before the others.
// CHECK-LABEL: func.func @both(
// CHECK-NEXT: %s, %r = cpu.fused_rows %x {
// CHECK: } : tensor<4x1xf32>, tensor<4x4xf32>
// CHECK-NEXT: %s_1 = glow.reshape %s : tensor<4xf32>
// CHECK-NEXT: %c = glow.mul %x, %s_1 : tensor<4x4xf32>
// CHECK-NEXT: func.return %c, %r
func.func @both(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = glow.reduce_sum %x axes [1] : tensor<4xf32>
  %c = glow.mul %x, %s : tensor<4x4xf32>
  %k = glow.reshape %s : tensor<4x1xf32>
  %r = glow.sub %x, %k : tensor<4x4xf32>
  func.return %c, %r : tensor<4x4xf32>, tensor<4x4xf32>
}

// A condition of fewer axes is as large as the rows, which have leading ones.
// CHECK-LABEL: @leading_ones
// CHECK: cpu.fused_rows %keep, %x {
// CHECK: cpu.row_sum
// CHECK: } : tensor<1x1x1xf32>
func.func @leading_ones(%keep: tensor<30xi1>, %x: tensor<1x1x30xf32>) -> tensor<1x1x1xf32> {
  %zero = glow.splat 0.0 : tensor<f32>
  %kept = glow.select %keep, %x, %zero : tensor<1x1x30xf32>
  %mean = glow.reduce_mean %kept axes [2] keepdims : tensor<1x1x1xf32>
  func.return %mean : tensor<1x1x1xf32>
}
