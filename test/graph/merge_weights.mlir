// RUN: glow-opt --merge-weights %s | filecheck %s

// Constants of equal content, and the nodes that become equal thereby.
// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: %a = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %0 = glow.add %x, %a : tensor<2xf32>
// CHECK-NEXT: func.return %0, %0 : tensor<2xf32>, tensor<2xf32>
func.func @equal(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = glow.add %x, %a : tensor<2xf32>
  %1 = glow.add %x, %b : tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// 1 / 0 and 1 / -0 are no equal nodes; other types and attributes are not either.
// CHECK-LABEL: func.func @different(
// CHECK-NEXT: %a = glow.splat 0.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %b = glow.splat -0.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %c = glow.splat 0.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %0 = glow.reciprocal %a : tensor<2xf32>
// CHECK-NEXT: %1 = glow.reciprocal %b : tensor<2xf32>
// CHECK-NEXT: %2 = glow.clip %x low 0.000000e+00 high 1.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %3 = glow.clip %x low 5.000000e-01 high 1.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %4 = glow.add %3, %c : tensor<2xf32>
// CHECK-NEXT: func.return %0, %1, %2, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
func.func @different(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = glow.splat 0.0 : tensor<2xf32>
  %b = glow.splat -0.0 : tensor<2xf32>
  %c = glow.splat 0.0 : tensor<1xf32>
  %0 = glow.reciprocal %a : tensor<2xf32>
  %1 = glow.reciprocal %b : tensor<2xf32>
  %2 = glow.clip %x low 0.0 high 1.0 : tensor<2xf32>
  %3 = glow.clip %x low 0.5 high 1.0 : tensor<2xf32>
  %4 = glow.add %3, %c : tensor<2xf32>
  func.return %0, %1, %2, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
