// RUN: ! glow-opt %s --partition='devices=cpu*2 strategy=balance tolerance=-1' 2>&1 | filecheck %s
// RUN: ! glow-opt %s --partition='devices=cpu*2 strategy=balance map=a=cpu:0' 2>&1 | filecheck %s --check-prefix MAP

// CHECK: error: partition: the tolerance must be 0 or more, not -1.0
// MAP: error: partition: a map is for the strategy user, not balance
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.relu %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
