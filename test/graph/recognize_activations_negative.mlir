// RUN: glow-opt --recognize-activations %s | filecheck %s

// Slopes above 1 and below 0 are other functions, and so are bounds for each element.
// CHECK-LABEL: func.func @not_leaky(
// CHECK-NEXT: %alpha = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %0 = glow.mul %alpha, %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.max %0, %x : tensor<4xf32>
// CHECK-NEXT: %c = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %2 = glow.max %x, %c : tensor<4xf32>
// CHECK-NEXT: %3 = glow.max %x, %y : tensor<4xf32>
// CHECK-NEXT: func.return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @not_leaky(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %alpha = glow.splat 2.0 : tensor<f32>
  %0 = glow.mul %alpha, %x : tensor<4xf32>
  %1 = glow.max %0, %x : tensor<4xf32>
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = glow.max %x, %c : tensor<4xf32>
  %3 = glow.max %x, %y : tensor<4xf32>
  func.return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// exp(x) in the place of exp(-x), 2 in the place of 1, x of another node.
// CHECK-LABEL: func.func @not_sigmoid(
// CHECK-NEXT: %one = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %0 = glow.exp %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.add %one, %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.div %one, %1 : tensor<4xf32>
// CHECK-NEXT: %3 = glow.neg %x : tensor<4xf32>
// CHECK-NEXT: %4 = glow.exp %3 : tensor<4xf32>
// CHECK-NEXT: %5 = glow.add %4, %two : tensor<4xf32>
// CHECK-NEXT: %6 = glow.div %one, %5 : tensor<4xf32>
// CHECK-NEXT: %7 = glow.add %4, %one : tensor<4xf32>
// CHECK-NEXT: %8 = glow.div %y, %7 : tensor<4xf32>
// CHECK-NEXT: func.return %2, %6, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @not_sigmoid(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = glow.splat 1.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %0 = glow.exp %x : tensor<4xf32>
  %1 = glow.add %one, %0 : tensor<4xf32>
  %2 = glow.div %one, %1 : tensor<4xf32>
  %3 = glow.neg %x : tensor<4xf32>
  %4 = glow.exp %3 : tensor<4xf32>
  %5 = glow.add %4, %two : tensor<4xf32>
  %6 = glow.div %one, %5 : tensor<4xf32>
  %7 = glow.add %4, %one : tensor<4xf32>
  %8 = glow.div %y, %7 : tensor<4xf32>
  func.return %2, %6, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @not_hard(
// CHECK-NEXT: %three = glow.splat 3.000000e+00 : tensor<f32>
// CHECK-NEXT: %six = glow.splat 6.000000e+00 : tensor<f32>
// CHECK-NEXT: %0 = glow.add %x, %three : tensor<4xf32>
// CHECK-NEXT: %1 = glow.clip %0 low 0.000000e+00 high 5.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.div %1, %six : tensor<4xf32>
// CHECK-NEXT: %3 = glow.clip %0 low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %4 = glow.mul %y, %3 : tensor<4xf32>
// CHECK-NEXT: %5 = glow.div %4, %six : tensor<4xf32>
// CHECK-NEXT: func.return %2, %5 : tensor<4xf32>, tensor<4xf32>
func.func @not_hard(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %three = glow.splat 3.0 : tensor<f32>
  %six = glow.splat 6.0 : tensor<f32>
  %0 = glow.add %x, %three : tensor<4xf32>
  %1 = glow.clip %0 low 0.0 high 5.0 : tensor<4xf32>
  %2 = glow.div %1, %six : tensor<4xf32>
  %3 = glow.clip %0 low 0.0 high 6.0 : tensor<4xf32>
  %4 = glow.mul %y, %3 : tensor<4xf32>
  %5 = glow.div %4, %six : tensor<4xf32>
  func.return %2, %5 : tensor<4xf32>, tensor<4xf32>
}

// Numbers that are only near those of the function.
// CHECK-LABEL: func.func @nearly(
// CHECK-NOT: glow.sigmoid
// CHECK-NOT: glow.hard_sigmoid
// CHECK: func.return
func.func @nearly(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = glow.splat 1.00001 : tensor<f32>
  %three = glow.splat 3.00001 : tensor<f32>
  %six = glow.splat 6.0 : tensor<f32>
  %0 = glow.neg %x : tensor<4xf32>
  %1 = glow.exp %0 : tensor<4xf32>
  %2 = glow.add %1, %one : tensor<4xf32>
  %3 = glow.div %one, %2 : tensor<4xf32>
  %4 = glow.add %x, %three : tensor<4xf32>
  %5 = glow.clip %4 low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
  %6 = glow.div %5, %six : tensor<4xf32>
  func.return %3, %6 : tensor<4xf32>, tensor<4xf32>
}

// A root that is a result too is computed anyway.
// CHECK-LABEL: func.func @root_with_readers(
// CHECK-NEXT: %r = glow.sqrt %x : tensor<4xf32>
// CHECK-NEXT: %y = glow.reciprocal %r : tensor<4xf32>
// CHECK-NEXT: func.return %r, %y
func.func @root_with_readers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = glow.sqrt %x : tensor<4xf32>
  %y = glow.reciprocal %r : tensor<4xf32>
  func.return %r, %y : tensor<4xf32>, tensor<4xf32>
}

// GELU's approximation with another number, and of two values.
// CHECK-LABEL: func.func @no_gelu_tanh(
// CHECK-NOT: glow.gelu_tanh
// CHECK: func.return
func.func @no_gelu_tanh(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %small = glow.splat 0.05 : tensor<f32>
  %usual = glow.splat 0.044715 : tensor<f32>
  %factor = glow.splat 0.79788456 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.mul %x, %half : tensor<4xf32>
  %1 = glow.mul %x, %factor : tensor<4xf32>
  %2 = glow.mul %x, %small : tensor<4xf32>
  %3 = glow.mul %2, %x : tensor<4xf32>
  %4 = glow.add %3, %one : tensor<4xf32>
  %5 = glow.mul %1, %4 : tensor<4xf32>
  %6 = glow.tanh %5 : tensor<4xf32>
  %7 = glow.add %6, %one : tensor<4xf32>
  %8 = glow.mul %0, %7 : tensor<4xf32>
  %a = glow.mul %x, %half : tensor<4xf32>
  %b = glow.mul %x, %factor : tensor<4xf32>
  %c = glow.mul %x, %usual : tensor<4xf32>
  %d = glow.mul %c, %z : tensor<4xf32>
  %e = glow.add %d, %one : tensor<4xf32>
  %f = glow.mul %b, %e : tensor<4xf32>
  %g = glow.tanh %f : tensor<4xf32>
  %h = glow.add %g, %one : tensor<4xf32>
  %i = glow.mul %a, %h : tensor<4xf32>
  func.return %8, %i : tensor<4xf32>, tensor<4xf32>
}
