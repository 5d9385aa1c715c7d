// RUN: glow-opt --differentiate='wrt=x' %s | filecheck %s

// A repeated index counts as often as it occurs: the scatter adds.
// CHECK-LABEL: func.func @embedding(
// CHECK-NEXT: %y = glow.gather %x, %i : tensor<3x4xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<3x4xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<3x4xf32>
// CHECK-NEXT: %0 = glow.reshape %i : tensor<3x1xi64>
// CHECK-NEXT: %1 = glow.splat 0.000000e+00 : tensor<12x4xf32>
// CHECK-NEXT: %x.grad = glow.scatter %1, %0, %y.grad coordinates [-1, 1] reduction "add" : tensor<12x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<12x4xf32>
func.func @embedding(%x: tensor<12x4xf32>, %i: tensor<3xi64>) -> tensor<f32> {
  %y = glow.gather %x, %i : tensor<3x4xf32>
  %s = glow.mul %y, %y : tensor<3x4xf32>
  %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// Each window's first largest element gets the gradient.
// CHECK-LABEL: func.func @max_pool(
// CHECK-NEXT: %y = glow.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<1x2x2x2xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1, 2, 3] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<1x2x2x2xf32>
// CHECK-NEXT: %0 = glow.arg_max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xi64>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<2x4x1xi64>
// CHECK-NEXT: %2 = glow.reshape %y.grad : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.splat 0.000000e+00 : tensor<2x16xf32>
// CHECK-NEXT: %4 = glow.scatter %3, %1, %2 coordinates [0, -1] reduction "add" : tensor<2x16xf32>
// CHECK-NEXT: %x.grad = glow.reshape %4 : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<1x2x4x4xf32>
func.func @max_pool(%x: tensor<1x2x4x4xf32>) -> tensor<f32> {
  %y = glow.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  %s = glow.mul %y, %y : tensor<1x2x2x2xf32>
  %loss = glow.reduce_sum %s axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}

// A part of the data is overwritten, and has no gradient there.
// CHECK-LABEL: func.func @overwritten(
// CHECK-NEXT: %y = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<12x4xf32>
// CHECK-NEXT: %s = glow.mul %y, %y : tensor<12x4xf32>
// CHECK-NEXT: %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
// CHECK-NEXT: %y.grad = glow.add %y, %y : tensor<12x4xf32>
// CHECK-NEXT: %0 = glow.splat 0.000000e+00 : tensor<3x4xf32>
// CHECK-NEXT: %x.grad = glow.scatter %y.grad, %i, %0 coordinates [-1, 1] : tensor<12x4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<12x4xf32>
func.func @overwritten(%x: tensor<12x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) -> tensor<f32> {
  %y = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<12x4xf32>
  %s = glow.mul %y, %y : tensor<12x4xf32>
  %loss = glow.reduce_sum %s axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
