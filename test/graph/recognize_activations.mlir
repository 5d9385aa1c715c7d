// RUN: glow-opt --recognize-activations %s | filecheck %s

// CHECK-LABEL: func.func @bounds(
// CHECK-NEXT: %a = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: %b = glow.clip %x low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %d = glow.clip %x low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %f = glow.clip %x low 0.000000e+00 high 0.000000e+00 : tensor<4xf32>
// CHECK-NEXT: func.return %a, %b, %d, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @bounds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = glow.splat 0.0 : tensor<f32>
  %six = glow.splat 6.0 : tensor<1xf32>
  %a = glow.max %x, %zero : tensor<4xf32>
  %b = glow.min %a, %six : tensor<4xf32>
  %c = glow.min %six, %x : tensor<4xf32>
  %d = glow.max %zero, %c : tensor<4xf32>
  %e = glow.max %six, %x : tensor<4xf32>
  %f = glow.min %e, %zero : tensor<4xf32>
  func.return %a, %b, %d, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @leaky_relu(
// CHECK-NEXT: %0 = glow.leaky_relu %x alpha 2.500000e-01 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
func.func @leaky_relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %alpha = glow.splat 0.25 : tensor<f32>
  %0 = glow.mul %alpha, %x : tensor<4xf32>
  %1 = glow.max %0, %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @sigmoid_and_swish(
// CHECK-NEXT: %0 = glow.sigmoid %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.sigmoid %x : tensor<4xf32>
// CHECK-NEXT: %2 = glow.mul %x, %1 : tensor<4xf32>
// CHECK-NEXT: func.return %0, %2 : tensor<4xf32>, tensor<4xf32>
func.func @sigmoid_and_swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = glow.splat 1.0 : tensor<f32>
  %0 = glow.neg %x : tensor<4xf32>
  %1 = glow.exp %0 : tensor<4xf32>
  %2 = glow.add %one, %1 : tensor<4xf32>
  %3 = glow.div %one, %2 : tensor<4xf32>
  %4 = glow.div %x, %2 : tensor<4xf32>
  func.return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @hard(
// CHECK-NEXT: %0 = glow.hard_sigmoid %x alpha 0.166666672 : tensor<4xf32>
// CHECK-NEXT: %1 = glow.hard_swish %x : tensor<4xf32>
// CHECK-NEXT: %2 = glow.hard_swish %x : tensor<4xf32>
// CHECK-NEXT: %3 = glow.hard_swish %x : tensor<4xf32>
// CHECK-NEXT: func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @hard(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = glow.splat 3.0 : tensor<f32>
  %six = glow.splat 6.0 : tensor<f32>
  %sixth = glow.splat 0.16666667 : tensor<f32>
  %0 = glow.add %x, %three : tensor<4xf32>
  %1 = glow.clip %0 low 0.0 high 6.0 : tensor<4xf32>
  %2 = glow.div %1, %six : tensor<4xf32>
  %3 = glow.mul %x, %2 : tensor<4xf32>
  %4 = glow.mul %x, %1 : tensor<4xf32>
  %5 = glow.div %4, %six : tensor<4xf32>
  %6 = glow.mul %1, %sixth : tensor<4xf32>
  %7 = glow.mul %6, %x : tensor<4xf32>
  func.return %2, %3, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu_tanh(
// CHECK-NEXT: %0 = glow.gelu_tanh %x : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = glow.splat 3.0 : tensor<f32>
  %small = glow.splat 0.044715 : tensor<f32>
  %factor = glow.splat 0.7978846 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.pow %x, %three : tensor<4xf32>
  %1 = glow.mul %0, %small : tensor<4xf32>
  %2 = glow.add %x, %1 : tensor<4xf32>
  %3 = glow.mul %2, %factor : tensor<4xf32>
  %4 = glow.tanh %3 : tensor<4xf32>
  %5 = glow.add %4, %one : tensor<4xf32>
  %6 = glow.mul %x, %half : tensor<4xf32>
  %7 = glow.mul %6, %5 : tensor<4xf32>
  func.return %7 : tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_product(
// CHECK-NEXT: %0 = glow.gelu_tanh %x : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
func.func @gelu_tanh_product(%x: tensor<4xf32>) -> tensor<4xf32> {
  %small = glow.splat 0.044715 : tensor<f32>
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
  func.return %8 : tensor<4xf32>
}

// CHECK-LABEL: func.func @reciprocal_of_root(
// CHECK-NEXT: %y = glow.rsqrt %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @reciprocal_of_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = glow.sqrt %x : tensor<4xf32>
  %y = glow.reciprocal %r : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
