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
