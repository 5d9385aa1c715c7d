// RUN: glow-opt --lower-nodes='backend=cpu' %s | filecheck %s

// The CPU keeps what it has kernels or scalar code for.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: %a = glow.gelu %x : tensor<2x4xf32>
// CHECK-NEXT: %b = glow.softmax %a axis 1 : tensor<2x4xf32>
// CHECK-NEXT: %c = glow.layer_norm %b, %s axis 1 : tensor<2x4xf32>
// CHECK-NEXT: func.return %c : tensor<2x4xf32>
func.func @kept(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %a = glow.gelu %x : tensor<2x4xf32>
  %b = glow.softmax %a axis 1 : tensor<2x4xf32>
  %c = glow.layer_norm %b, %s axis 1 : tensor<2x4xf32>
  func.return %c : tensor<2x4xf32>
}

// A layer whose weights are computed is a plain product.
// CHECK-LABEL: func.func @computed_weights(
// CHECK-NEXT: %y = glow.matmul %x, %w : tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @computed_weights(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %y = glow.fully_connected %x, %w : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
