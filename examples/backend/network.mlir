// A convolution, a dense layer with ReLU, a product and a softmax.
func.func @main(%image: tensor<2x3x8x8xf32>) -> tensor<2x3xf32> {
  %filters = glow.constant dense<0.125> : tensor<8x3x3x3xf32>
  %0 = glow.conv2d %image, %filters strides [2, 2] pads [1, 1, 1, 1] : tensor<2x8x4x4xf32>
  %1 = glow.reshape %0 : tensor<2x128xf32>
  %w = glow.constant dense<0.015625> : tensor<128x4xf32>
  %b = glow.constant dense<[-0.5, -0.25, 0.5, 1.0]> : tensor<4xf32>
  %2 = glow.fully_connected %1, %w, %b : tensor<2x4xf32>
  %3 = glow.relu %2 : tensor<2x4xf32>
  %v = glow.constant dense<[[1.0, 0.0, -1.0], [2.0, 1.0, 0.0], [0.0, -1.0, 2.0], [-1.0, 1.0, 0.5]]> : tensor<4x3xf32>
  %4 = glow.matmul %3, %v : tensor<2x3xf32>
  %5 = glow.softmax %4 axis 1 : tensor<2x3xf32>
  func.return %5 : tensor<2x3xf32>
}
