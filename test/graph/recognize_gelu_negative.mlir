// RUN: glow-opt --recognize-gelu %s | filecheck %s

// Another number than sqrt 2.
// CHECK-LABEL: func.func @other_scale(
// CHECK-NEXT: %two = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %one = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %0 = glow.div %x, %two : tensor<4xf32>
// CHECK-NEXT: %1 = glow.erf %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.add %1, %one : tensor<4xf32>
// CHECK-NEXT: %3 = glow.mul %x, %2 : tensor<4xf32>
// CHECK-NEXT: %y = glow.mul %3, %half : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @other_scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = glow.splat 2.0 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.div %x, %two : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %1, %one : tensor<4xf32>
  %3 = glow.mul %x, %2 : tensor<4xf32>
  %y = glow.mul %3, %half : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The gate belongs to another value.
// CHECK-LABEL: func.func @other_value(
// CHECK-NEXT: %sqrt2 = glow.splat 1.41421354 : tensor<f32>
// CHECK-NEXT: %one = glow.splat 1.000000e+00 : tensor<f32>
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %0 = glow.div %x, %sqrt2 : tensor<4xf32>
// CHECK-NEXT: %1 = glow.erf %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.add %1, %one : tensor<4xf32>
// CHECK-NEXT: %3 = glow.mul %z, %2 : tensor<4xf32>
// CHECK-NEXT: %y = glow.mul %3, %half : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @other_value(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %sqrt2 = glow.splat 1.41421354 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.div %x, %sqrt2 : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %1, %one : tensor<4xf32>
  %3 = glow.mul %z, %2 : tensor<4xf32>
  %y = glow.mul %3, %half : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A number that only begins like sqrt 2: the function differs by 7e-6, more than rounding does.
// CHECK-LABEL: func.func @nearly(
// CHECK-NOT: glow.gelu
// CHECK: func.return
func.func @nearly(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sqrt2 = glow.splat 1.4142 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.div %x, %sqrt2 : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %1, %one : tensor<4xf32>
  %3 = glow.mul %x, %2 : tensor<4xf32>
  %y = glow.mul %3, %half : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The gate is 2 + erf.
// CHECK-LABEL: func.func @other_gate(
// CHECK-NOT: glow.gelu
// CHECK: glow.erf
// CHECK-NOT: glow.gelu
// CHECK: func.return
func.func @other_gate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sqrt2 = glow.splat 1.41421354 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.div %x, %sqrt2 : tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.add %1, %two : tensor<4xf32>
  %3 = glow.mul %x, %2 : tensor<4xf32>
  %y = glow.mul %3, %half : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The hyperbolic form's gate is 2 + tanh; its product is not halved.
// CHECK-LABEL: func.func @other_tanh_gate(
// CHECK-NOT: glow.gelu
// CHECK: glow.tanh
// CHECK-NOT: glow.gelu
// CHECK: func.return
func.func @other_tanh_gate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %three = glow.splat 3.0 : tensor<f32>
  %c = glow.splat 0.044715 : tensor<f32>
  %s = glow.splat 0.7978845608 : tensor<f32>
  %one = glow.splat 1.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %half = glow.splat 0.5 : tensor<f32>
  %0 = glow.pow %x, %three : tensor<4xf32>
  %1 = glow.mul %0, %c : tensor<4xf32>
  %2 = glow.add %x, %1 : tensor<4xf32>
  %3 = glow.mul %2, %s : tensor<4xf32>
  %4 = glow.tanh %3 : tensor<4xf32>
  %5 = glow.add %4, %two : tensor<4xf32>
  %6 = glow.mul %x, %half : tensor<4xf32>
  %7 = glow.mul %6, %5 : tensor<4xf32>
  %8 = glow.add %4, %one : tensor<4xf32>
  %9 = glow.mul %x, %8 : tensor<4xf32>
  func.return %7, %9 : tensor<4xf32>, tensor<4xf32>
}

// A quotient between the same bounds that is another function.
// CHECK-LABEL: func.func @other_quotient(
// CHECK-NOT: glow.erf
func.func @other_quotient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %c = glow.clip %x low -4.0 high 4.0 : tensor<4xf32>
  %z = glow.mul %c, %c : tensor<4xf32>
  %0 = glow.add %z, %one : tensor<4xf32>
  %1 = glow.div %c, %0 : tensor<4xf32>
  %y = glow.clip %1 low -1.0 high 1.0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The error function but for a zero of the numerator beside one of the denominator.
// CHECK-LABEL: func.func @pole(
// CHECK-NOT: glow.erf
func.func @pole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.constant dense<0.707106769> : tensor<4xf32>
  %zero = glow.splat -0.063 : tensor<f32>
  %pole = glow.splat -0.0630001 : tensor<f32>
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
  %21 = glow.add %c, %zero : tensor<4xf32>
  %22 = glow.mul %20, %21 : tensor<4xf32>
  %23 = glow.add %c, %pole : tensor<4xf32>
  %24 = glow.mul %19, %23 : tensor<4xf32>
  %25 = glow.div %22, %24 : tensor<4xf32>
  %y = glow.clip %25 low -1.0 high 1.0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
