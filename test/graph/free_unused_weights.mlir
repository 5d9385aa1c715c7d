// RUN: glow-opt --free-unused-weights %s | filecheck %s

// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: %y = glow.neg %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %d = glow.add %x, %c : tensor<4xf32>
  %e = glow.relu %d : tensor<4xf32>
  %y = glow.neg %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
