// RUN: glow-opt --convert-constants-to-variables %s | filecheck %s

// Constants of one entry are one variable; a name that is taken by another value gets a number.
// CHECK-LABEL: func.func @shared(
// CHECK-NEXT: %v = glow.variable @w initial dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %a = glow.variable @w_1 initial @w : tensor<4xf32>
// CHECK-NEXT: %b = glow.variable @w_1 initial @w : tensor<4xf32>
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = glow.variable @w initial dense<1.0> : tensor<4xf32>
  %a = glow.constant @w : tensor<4xf32>
  %b = glow.constant @w : tensor<4xf32>
  %0 = glow.add %x, %a : tensor<4xf32>
  %1 = glow.mul %0, %b : tensor<4xf32>
  %2 = glow.sub %1, %v : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
