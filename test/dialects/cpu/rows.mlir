// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --glow-to-instr %s | filecheck %s --check-prefix=INSTR

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %p = cpu.softmax %x, %c {
// CHECK: } : tensor<3x8xi32>
// CHECK-NEXT: %q, %y = cpu.layer_norm %x, %s, %b axis 1 {
// CHECK: } : tensor<3x8xi32>, tensor<3x8xf32>
// INSTR: instr.cpu.softmax @out %p, @in %x, @in %c {
// INSTR: instr.cpu.layer_norm @out %q, @out %y, @in %x, @in %s, @in %b axis 1 {
func.func @rows(%x: tensor<3x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<3x8xi32>, tensor<3x8xi32>, tensor<3x8xf32>) {
  %p = cpu.softmax %x, %c {
  ^bb0(%v: f32, %w: f32):
    %m = arith.mulf %v, %w : f32
    %i = arith.fptosi %m : f32 to i32
    glow.yield %i
  } : tensor<3x8xi32>
  %q, %y = cpu.layer_norm %x, %s, %b axis 1 {
  ^bb0(%v: f32):
    %i = arith.fptosi %v : f32 to i32
    glow.yield %i
  } : tensor<3x8xi32>, tensor<3x8xf32>
  func.return %p, %q, %y : tensor<3x8xi32>, tensor<3x8xi32>, tensor<3x8xf32>
}
