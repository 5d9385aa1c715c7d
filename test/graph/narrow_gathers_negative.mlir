// RUN: glow-opt --narrow-gathers %s | filecheck %s

// CHECK-NOT: glow.slice

// Nearly all columns are read.
func.func @most(%x: tensor<2x4xf32>, %w: tensor<4x32xf32>) -> tensor<2x2xf32> {
  %i = glow.constant dense<[[0, 16], [3, 4]]> : tensor<2x2xi64>
  %p = glow.matmul %x, %w : tensor<2x32xf32>
  %y = glow.gather_elements %p, %i axis 1 : tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// Rows are chosen.
func.func @rows(%x: tensor<64x4xf32>, %w: tensor<4x2xf32>) -> tensor<1x2xf32> {
  %i = glow.constant dense<[[3, 4]]> : tensor<1x2xi64>
  %p = glow.matmul %x, %w : tensor<64x2xf32>
  %y = glow.gather_elements %p, %i axis 0 : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// Who else reads the product?
func.func @shared(%x: tensor<2x4xf32>, %w: tensor<4x64xf32>)
    -> (tensor<2x1xf32>, tensor<2x64xf32>) {
  %i = glow.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %p = glow.matmul %x, %w : tensor<2x64xf32>
  %y = glow.gather_elements %p, %i axis 1 : tensor<2x1xf32>
  func.return %y, %p : tensor<2x1xf32>, tensor<2x64xf32>
}

// Places are computed.
func.func @places(%x: tensor<2x4xf32>, %w: tensor<4x64xf32>, %i: tensor<2x1xi64>)
    -> tensor<2x1xf32> {
  %p = glow.matmul %x, %w : tensor<2x64xf32>
  %y = glow.gather_elements %p, %i axis 1 : tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
