// RUN: glow-opt --differentiate='wrt=x' %s | filecheck %s

// The softmax is computed again, from the same queries and keys.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %y = glow.attention %x, %k, %v, %m scale 2.500000e-01 : tensor<2x4x6xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<2x4x6xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1, 2] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<2x4x6xf32>
// CHECK-NEXT: %0 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %x, %0 : tensor<2x4x8xf32>
// CHECK-NEXT: %2 = glow.matmul %1, %k transpose_rhs : tensor<2x4x5xf32>
// CHECK-NEXT: %3 = glow.add %2, %m : tensor<2x4x5xf32>
// CHECK-NEXT: %4 = glow.softmax %3 axis 2 : tensor<2x4x5xf32>
// CHECK-NEXT: %5 = glow.matmul %y.grad, %v transpose_rhs : tensor<2x4x5xf32>
// CHECK-NEXT: %6 = glow.mul %5, %4 : tensor<2x4x5xf32>
// CHECK-NEXT: %7 = glow.reduce_sum %6 axes [2] keepdims : tensor<2x4x1xf32>
// CHECK-NEXT: %8 = glow.sub %5, %7 : tensor<2x4x5xf32>
// CHECK-NEXT: %9 = glow.mul %8, %4 : tensor<2x4x5xf32>
// CHECK-NEXT: %10 = glow.matmul %9, %k : tensor<2x4x8xf32>
// CHECK-NEXT: %x.grad = glow.mul %10, %0 : tensor<2x4x8xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x4x8xf32>
func.func @attention(%x: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %m: tensor<4x5xf32>) -> tensor<f32> {
  %y = glow.attention %x, %k, %v, %m scale 0.25 : tensor<2x4x6xf32>
  %s = glow.mul %y, %y : tensor<2x4x6xf32>
  %loss = glow.reduce_sum %s axes [0, 1, 2] : tensor<f32>
  func.return %loss : tensor<f32>
}
