// RUN: ! glow-opt --training-mode %s 2>&1 | filecheck %s

// CHECK: error: training-mode: the statistics mean are computed, and cannot be saved; batch normalizations take weights or variables in training
func.func @computed(%x: tensor<8x4xf32>, %c: tensor<4xf32>) -> tensor<8x4xf32> {
  %mean = glow.neg %c : tensor<4xf32>
  %y = glow.batch_norm %x, %c, %c, %mean, %c : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}
