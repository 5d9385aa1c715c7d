// RUN: glow-opt --differentiate='wrt=x' %s | filecheck %s

// A table of constants is transposed: interpolation goes back by interpolation.
// CHECK-LABEL: func.func @resize(
// CHECK-NEXT: %p = glow.constant dense<[[0, 1], [1, 2], [1, 3]]> : tensor<3x2xi64>
// CHECK-NEXT: %w = glow.constant dense<[[7.500000e-01, 2.500000e-01], [5.000000e-01, 5.000000e-01], [1.000000e+00, 9.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: %y = glow.sample %x, %p, %w axis 1 : tensor<2x3xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<2x3xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<2x3xf32>
// CHECK-NEXT: %0 = glow.constant dense<[[0, 0, 0], [0, 1, 2], [1, 0, 0]]> : tensor<3x3xi64>
// CHECK-NEXT: %1 = glow.constant dense<[[7.500000e-01, 0.000000e+00, 0.000000e+00], [2.500000e-01, 5.000000e-01, 1.000000e+00], [5.000000e-01, 0.000000e+00, 0.000000e+00]]> : tensor<3x3xf32>
// CHECK-NEXT: %x.grad = glow.sample %y.grad, %0, %1 axis 1 : tensor<2x3xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x3xf32>
func.func @resize(%x: tensor<2x3xf32>) -> tensor<f32> {
  %p = glow.constant dense<[[0, 1], [1, 2], [1, 3]]> : tensor<3x2xi64>
  %w = glow.constant dense<[[0.75, 0.25], [0.5, 0.5], [1.0, 9.0]]> : tensor<3x2xf32>
  %y = glow.sample %x, %p, %w axis 1 : tensor<2x3xf32>
  %s = glow.mul %y, %y : tensor<2x3xf32>
  %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
