// RUN: glow-opt --differentiate='wrt=w,r' %s | filecheck %s

// The gates are known again before the loop; each matrix has one product behind it.
// CHECK-LABEL: func.func @rnn(
// CHECK-NEXT: %y, %last = glow.rnn %x, %w, %r, %b, %h : tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %last axes [0, 1, 2] : tensor<f32>
// CHECK-NEXT: %0 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %1 = glow.splat 1.000000e+00 : tensor<1x2x4xf32>
// CHECK-NEXT: %2 = glow.slice %h starts [0, 0, 0] sizes [1, 2, 4] steps [1, 1, 1] : tensor<1x2x4xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<2x4xf32>
// CHECK-NEXT: %4 = glow.slice %y starts [0, 0, 0, 0] sizes [5, 1, 2, 4] steps [1, 1, 1, 1] : tensor<5x1x2x4xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<5x2x4xf32>
// CHECK-NEXT: %6 = glow.reshape %x : tensor<10x3xf32>
// CHECK-NEXT: %7 = glow.slice %r starts [0, 0, 0] sizes [1, 4, 4] steps [1, 1, 1] : tensor<1x4x4xf32>
// CHECK-NEXT: %8 = glow.reshape %7 : tensor<4x4xf32>
// CHECK-NEXT: %9 = glow.reshape %3 : tensor<1x2x4xf32>
// CHECK-NEXT: %10 = glow.slice %5 starts [0, 0, 0] sizes [4, 2, 4] steps [1, 1, 1] : tensor<4x2x4xf32>
// CHECK-NEXT: %11 = glow.concat %9, %10 axis 0 : tensor<5x2x4xf32>
// CHECK-NEXT: %12 = glow.slice %1 starts [0, 0, 0] sizes [1, 2, 4] steps [1, 1, 1] : tensor<1x2x4xf32>
// CHECK-NEXT: %13 = glow.reshape %12 : tensor<2x4xf32>
// CHECK-NEXT: %14 = glow.mul %5, %5 : tensor<5x2x4xf32>
// CHECK-NEXT: %15 = glow.sub %0, %14 : tensor<5x2x4xf32>
// CHECK-NEXT: %16 = arith.constant 0 : index
// CHECK-NEXT: %17 = arith.constant 5 : index
// CHECK-NEXT: %18 = arith.constant 1 : index
// CHECK-NEXT: %19 = arith.constant 4 : index
// CHECK-NEXT: %20 = glow.splat 0.000000e+00 : tensor<5x2x4xf32>
// CHECK-NEXT: %21, %22 = scf.for %23 = %16 to %17 step %18 iter_args(%24 = %20, %25 = %13) -> (tensor<5x2x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT: %26 = arith.subi %19, %23 : index
// CHECK-NEXT: %27 = glow.dynamic_slice %15, %26 : tensor<2x4xf32>
// CHECK-NEXT: %28 = glow.mul %25, %27 : tensor<2x4xf32>
// CHECK-NEXT: %29 = glow.matmul %28, %8 : tensor<2x4xf32>
// CHECK-NEXT: %30 = glow.dynamic_update %24, %28, %26 : tensor<5x2x4xf32>
// CHECK-NEXT: scf.yield %30, %29 : tensor<5x2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %31 = glow.reshape %21 : tensor<10x4xf32>
// CHECK-NEXT: %32 = glow.reshape %11 : tensor<10x4xf32>
// CHECK-NEXT: %33 = glow.matmul %31, %32 transpose_lhs : tensor<4x4xf32>
// CHECK-NEXT: %34 = glow.reshape %21 : tensor<10x4xf32>
// CHECK-NEXT: %35 = glow.matmul %34, %6 transpose_lhs : tensor<4x3xf32>
// CHECK-NEXT: %w.grad = glow.reshape %35 : tensor<1x4x3xf32>
// CHECK-NEXT: %r.grad = glow.reshape %33 : tensor<1x4x4xf32>
// CHECK-NEXT: func.return %loss, %w.grad, %r.grad : tensor<f32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>
func.func @rnn(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>, %b: tensor<1x8xf32>, %h: tensor<1x2x4xf32>) -> tensor<f32> {
  %y, %last = glow.rnn %x, %w, %r, %b, %h : tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  %loss = glow.reduce_sum %last axes [0, 1, 2] : tensor<f32>
  func.return %loss : tensor<f32>
}
