// The regression of docs/training.md: a linear layer and the mean of squared errors.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x1xf32>) -> tensor<f32> {
  %w = glow.variable @w : tensor<4x1xf32>
  %b = glow.variable @b : tensor<1xf32>
  %product = glow.matmul %x, %w : tensor<8x1xf32>
  %prediction = glow.add %product, %b : tensor<8x1xf32>
  %loss = glow.mse_loss %prediction, %y : tensor<f32>
  func.return %loss : tensor<f32>
}
