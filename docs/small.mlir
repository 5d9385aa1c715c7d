// The network of docs/architecture.md: 1x1 convolution, batch normalization, ReLU.
func.func @main(%image: tensor<1x3x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %weights = glow.splat 0.1 : tensor<16x3x1x1xf32>
  %scale = glow.splat 2.0 : tensor<16xf32>
  %bias = glow.splat 0.5 : tensor<16xf32>
  %mean = glow.splat 0.25 : tensor<16xf32>
  %variance = glow.splat 1.0 : tensor<16xf32>
  %0 = glow.conv2d %image, %weights : tensor<1x16x4x4xf32>
  %1 = glow.batch_norm %0, %scale, %bias, %mean, %variance : tensor<1x16x4x4xf32>
  %2 = glow.relu %1 : tensor<1x16x4x4xf32>
  func.return %2 : tensor<1x16x4x4xf32>
}
