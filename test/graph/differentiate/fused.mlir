// RUN: glow-opt --differentiate='wrt=x' %s | filecheck %s

// One node forward, one backward.
// CHECK-LABEL: func.func @fused(
// CHECK-NEXT: %y = glow.fused %x, %c {
// CHECK-NEXT: ^bb0(%a: f32, %b: f32):
// CHECK-NEXT: %e = math.exp %a : f32
// CHECK-NEXT: %p = arith.mulf %e, %b : f32
// CHECK-NEXT: glow.yield %p
// CHECK-NEXT: } : tensor<3x4xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<3x4xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<3x4xf32>
// CHECK-NEXT: %x.grad = glow.fused %x, %c, %y.grad {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32, %2: f32):
// CHECK-NEXT: %e_1 = math.exp %0 : f32
// CHECK-NEXT: %p_1 = arith.mulf %e_1, %1 : f32
// CHECK-NEXT: %3 = arith.mulf %2, %1 : f32
// CHECK-NEXT: %4 = arith.mulf %2, %e_1 : f32
// CHECK-NEXT: %5 = arith.mulf %3, %e_1 : f32
// CHECK-NEXT: glow.yield %5
// CHECK-NEXT: } : tensor<3x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<3x4xf32>
func.func @fused(%x: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<f32> {
  %y = glow.fused %x, %c {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    %p = arith.mulf %e, %b : f32
    glow.yield %p
  } : tensor<3x4xf32>
  %s = glow.mul %y, %y : tensor<3x4xf32>
  %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
