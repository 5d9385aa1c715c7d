// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @lstm_like(
// CHECK-NEXT: %y, %last = cpu.recurrence %x, %w, %h, %c, %b gates 2 reverse {
// CHECK-NEXT: ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32, %number: f32):
// CHECK-NEXT: %a = arith.addf %s0, %x0 : f32
// CHECK-NEXT: %m = arith.mulf %s1, %x1 : f32
// CHECK-NEXT: %n = arith.addf %state, %number : f32
// CHECK-NEXT: %k = arith.mulf %a, %old : f32
// CHECK-NEXT: %l = arith.mulf %m, %n : f32
// CHECK-NEXT: glow.yield %k, %l
// CHECK-NEXT: } : tensor<5x1x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: func.return %y, %last : tensor<5x1x3xf32>, tensor<1x3xf32>
func.func @lstm_like(%x: tensor<5x1x6xf32>, %w: tensor<96xf32>, %h: tensor<1x3xf32>, %c: tensor<1x3xf32>, %b: tensor<3xf32>) -> (tensor<5x1x3xf32>, tensor<1x3xf32>) {
  %y, %last = cpu.recurrence %x, %w, %h, %c, %b gates 2 reverse {
  ^bb0(%s0: f32, %s1: f32, %x0: f32, %x1: f32, %old: f32, %state: f32, %number: f32):
    %a = arith.addf %s0, %x0 : f32
    %m = arith.mulf %s1, %x1 : f32
    %n = arith.addf %state, %number : f32
    %k = arith.mulf %a, %old : f32
    %l = arith.mulf %m, %n : f32
    glow.yield %k, %l
  } : tensor<5x1x3xf32>, tensor<1x3xf32>
  func.return %y, %last : tensor<5x1x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: func.func @instruction(
// CHECK-NEXT: instr.cpu.recurrence @out %y, @in %x, @in %w, @in %h gates 1 {
func.func @instruction(%y: memref<5x1x3xf32>, %x: memref<5x1x3xf32>, %w: memref<12xf32>, %h: memref<1x3xf32>) {
  instr.cpu.recurrence @out %y, @in %x, @in %w, @in %h gates 1 {
  ^bb0(%s: f32, %e: f32, %old: f32):
    %a = arith.addf %s, %e : f32
    glow.yield %a
  }
  func.return
}
