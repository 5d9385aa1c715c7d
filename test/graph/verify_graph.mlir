// RUN: glow-opt --verify-graph %s | filecheck %s

// CHECK-LABEL: func.func @nodes(
// CHECK-NEXT: %y = glow.neg %x : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.neg %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
