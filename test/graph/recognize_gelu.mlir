// RUN: glow-opt --recognize-gelu %s | filecheck %s

// CHECK-LABEL: func.func @as_torch_exports_it(
// CHECK-NEXT: %y = glow.gelu %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @as_torch_exports_it(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sqrt2 = glow.constant dense<1.41421354> : tensor<f32>
  %one = glow.constant dense<1.0> : tensor<f32>
  %half = glow.constant dense<0.5> : tensor<f32>
  %0 = glow.div %x, %sqrt2 : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %1, %one : tensor<4xf32>
  %3 = glow.mul %x, %2 : tensor<4xf32>
  %y = glow.mul %3, %half : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @half_first(
// CHECK-NEXT: %y = glow.gelu %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @half_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.splat 0.707106769 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.mul %root, %x : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %one, %1 : tensor<4xf32>
  %3 = glow.mul %half, %x : tensor<4xf32>
  %y = glow.mul %2, %3 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// As torch-mlir prints it: 1 / sqrt 2 in all elements, and polynomials of its own.
// CHECK-LABEL: func.func @quotient_of_polynomials(
// CHECK-NEXT: %y = glow.gelu %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @quotient_of_polynomials(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.constant dense<0.707106769> : tensor<4xf32>
  %half = glow.splat 0.5 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %p0 = glow.splat -2.72614237E-10 : tensor<f32>
  %p1 = glow.splat 2.77068146E-8 : tensor<f32>
  %p2 = glow.splat -2.10102394E-6 : tensor<f32>
  %p3 = glow.splat -5.69250624E-5 : tensor<f32>
  %p4 = glow.splat -7.34990637E-4 : tensor<f32>
  %p5 = glow.splat -2.954600e-03 : tensor<f32>
  %p6 = glow.splat -0.0160960332 : tensor<f32>
  %q0 = glow.splat -1.45660715E-5 : tensor<f32>
  %q1 = glow.splat -2.13374049E-4 : tensor<f32>
  %q2 = glow.splat -0.00168282702 : tensor<f32>
  %q3 = glow.splat -0.00737332925 : tensor<f32>
  %q4 = glow.splat -0.0142647391 : tensor<f32>
  %h = glow.mul %x, %half : tensor<4xf32>
  %s = glow.mul %x, %root : tensor<4xf32>
  %c = glow.clip %s low -4.0 high 4.0 : tensor<4xf32>
  %z = glow.mul %c, %c : tensor<4xf32>
  %0 = glow.mul %p0, %z : tensor<4xf32>
  %1 = glow.add %0, %p1 : tensor<4xf32>
  %2 = glow.mul %1, %z : tensor<4xf32>
  %3 = glow.add %2, %p2 : tensor<4xf32>
  %4 = glow.mul %3, %z : tensor<4xf32>
  %5 = glow.add %4, %p3 : tensor<4xf32>
  %6 = glow.mul %5, %z : tensor<4xf32>
  %7 = glow.add %6, %p4 : tensor<4xf32>
  %8 = glow.mul %7, %z : tensor<4xf32>
  %9 = glow.add %8, %p5 : tensor<4xf32>
  %10 = glow.mul %9, %z : tensor<4xf32>
  %11 = glow.add %10, %p6 : tensor<4xf32>
  %12 = glow.mul %q0, %z : tensor<4xf32>
  %13 = glow.add %12, %q1 : tensor<4xf32>
  %14 = glow.mul %13, %z : tensor<4xf32>
  %15 = glow.add %14, %q2 : tensor<4xf32>
  %16 = glow.mul %15, %z : tensor<4xf32>
  %17 = glow.add %16, %q3 : tensor<4xf32>
  %18 = glow.mul %17, %z : tensor<4xf32>
  %19 = glow.add %18, %q4 : tensor<4xf32>
  %20 = glow.mul %c, %11 : tensor<4xf32>
  %21 = glow.div %20, %19 : tensor<4xf32>
  %22 = glow.clip %21 low -1.0 high 1.0 : tensor<4xf32>
  %23 = glow.add %22, %one : tensor<4xf32>
  %y = glow.mul %h, %23 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @as_jax_spells_it(
// CHECK-NEXT: %y = glow.gelu %x : tensor<4xf32>
func.func @as_jax_spells_it(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.splat 0.707106769 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %h = glow.mul %half, %x : tensor<4xf32>
  %0 = glow.neg %x : tensor<4xf32>
  %1 = glow.mul %0, %root : tensor<4xf32>
  %2 = glow.erf %1 : tensor<4xf32>
  %3 = glow.sub %one, %2 : tensor<4xf32>
  %y = glow.mul %h, %3 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
