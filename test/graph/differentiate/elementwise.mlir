// RUN: glow-opt --split-input-file --differentiate='wrt=x' %s | filecheck %s

// Derivatives of element-wise nodes: numbers are computed at once, and no gradient is multiplied by
// one. Comparisons and rounding stop the gradient.

// CHECK-LABEL: func.func @quotient(
// CHECK:      %0 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %1 = glow.splat -3.000000e+00 : tensor<f32>
// CHECK-NEXT: %2 = glow.div %0, %y : tensor<3x4xf32>
// CHECK-NEXT: %3 = glow.reduce_sum %2 axes [0] : tensor<4xf32>
// CHECK-NEXT: %x.grad = glow.add %1, %3 : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @quotient(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<f32> {
  %q = glow.div %x, %y : tensor<3x4xf32>
  %d = glow.sub %q, %x : tensor<3x4xf32>
  %loss = glow.reduce_sum %d axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @functions(
// CHECK:      %0 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %1 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %t.grad = glow.mul %1, %e : tensor<4xf32>
// CHECK-NEXT: %2 = glow.mul %t, %t : tensor<4xf32>
// CHECK-NEXT: %3 = glow.sub %0, %2 : tensor<4xf32>
// CHECK-NEXT: %s.grad = glow.mul %t.grad, %3 : tensor<4xf32>
// CHECK-NEXT: %4 = glow.mul %s.grad, %s : tensor<4xf32>
// CHECK-NEXT: %5 = glow.sub %0, %s : tensor<4xf32>
// CHECK-NEXT: %x.grad = glow.mul %4, %5 : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @functions(%x: tensor<4xf32>) -> tensor<f32> {
  %s = glow.sigmoid %x : tensor<4xf32>
  %t = glow.tanh %s : tensor<4xf32>
  %e = glow.exp %t : tensor<4xf32>
  %loss = glow.reduce_mean %e axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @numbers(
// CHECK:      %two = glow.splat 2.000000e+00 : tensor<f32>
// CHECK:      %c = glow.clip %h low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK:      %0 = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %1 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %2 = glow.less %1, %h : tensor<4xi1>
// CHECK-NEXT: %3 = glow.splat 6.000000e+00 : tensor<f32>
// CHECK-NEXT: %4 = glow.less %h, %3 : tensor<4xi1>
// CHECK-NEXT: %5 = glow.and %2, %4 : tensor<4xi1>
// CHECK-NEXT: %h.grad = glow.select %5, %0, %1 : tensor<4xf32>
// CHECK-NEXT: %x.grad = glow.mul %h.grad, %x : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @numbers(%x: tensor<4xf32>) -> tensor<f32> {
  %two = glow.splat 2.0 : tensor<f32>
  %half = glow.splat 5.000000e-01 : tensor<f32>
  %p = glow.pow %x, %two : tensor<4xf32>
  %h = glow.mul %p, %half : tensor<4xf32>
  %c = glow.clip %h low 0.0 high 6.0 : tensor<4xf32>
  %loss = glow.reduce_sum %c axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @choice(
// CHECK:      %0 = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %x.grad = glow.select %less, %rounded, %0 : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<4xf32>
func.func @choice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> {
  %less = glow.less %x, %y : tensor<4xi1>
  %c = glow.select %less, %x, %y : tensor<4xf32>
  %rounded = glow.round %x : tensor<4xf32>
  %d = glow.mul %c, %rounded : tensor<4xf32>
  %loss = glow.reduce_sum %d axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}
