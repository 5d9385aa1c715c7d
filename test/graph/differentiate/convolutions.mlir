// RUN: glow-opt --split-input-file --differentiate='wrt=x,w,b' %s | filecheck %s

// The gradient of the weights is a convolution of image and gradient with images and channels,
// strides and dilations exchanged.

// CHECK-LABEL: func.func @strides(
// CHECK:      %y = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 0, 0] : tensor<2x6x4x4xf32>
// CHECK:      %x.grad = glow.conv_transpose2d %e, %w strides [2, 2] pads [1, 1, 0, 0] output_padding [1, 1] : tensor<2x4x9x9xf32>
// CHECK-NEXT: %0 = glow.transpose %x permutation [1, 0, 2, 3] : tensor<4x2x9x9xf32>
// CHECK-NEXT: %1 = glow.transpose %e permutation [1, 0, 2, 3] : tensor<6x2x4x4xf32>
// CHECK-NEXT: %2 = glow.conv2d %0, %1 pads [1, 1, 0, 0] dilations [2, 2] : tensor<4x6x4x4xf32>
// CHECK-NEXT: %3 = glow.slice %2 starts [0, 0, 0, 0] sizes [4, 6, 3, 3] steps [1, 1, 1, 1] : tensor<4x6x3x3xf32>
// CHECK-NEXT: %w.grad = glow.transpose %3 permutation [1, 0, 2, 3] : tensor<6x4x3x3xf32>
// CHECK-NEXT: %b.grad = glow.reduce_sum %e axes [0, 2, 3] : tensor<6xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad, %b.grad : tensor<f32>, tensor<2x4x9x9xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>
func.func @strides(%x: tensor<2x4x9x9xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<6xf32>) -> tensor<f32> {
  %y = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 0, 0] : tensor<2x6x4x4xf32> loc("conv1")
  %e = glow.exp %y : tensor<2x6x4x4xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @groups(
// CHECK:      %x.grad = glow.conv_transpose2d %e, %w pads [1, 1, 1, 1] group 4 : tensor<2x4x5x5xf32>
// CHECK-NEXT: %0 = glow.reshape %x : tensor<2x4x1x5x5xf32>
// CHECK-NEXT: %1 = glow.transpose %0 permutation [2, 1, 0, 3, 4] : tensor<1x4x2x5x5xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<1x8x5x5xf32>
// CHECK-NEXT: %3 = glow.transpose %e permutation [1, 0, 2, 3] : tensor<4x2x5x5xf32>
// CHECK-NEXT: %4 = glow.conv2d %2, %3 pads [1, 1, 1, 1] group 4 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %w.grad = glow.transpose %4 permutation [1, 0, 2, 3] : tensor<4x1x3x3xf32>
// CHECK-NEXT: %b.grad = glow.reduce_sum %e axes [0, 2, 3] : tensor<4xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad, %b.grad : tensor<f32>, tensor<2x4x5x5xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>
func.func @groups(%x: tensor<2x4x5x5xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<4xf32>) -> tensor<f32> {
  %y = glow.conv2d %x, %w, %b pads [1, 1, 1, 1] group 4 : tensor<2x4x5x5xf32>
  %e = glow.exp %y : tensor<2x4x5x5xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @transposed(
// CHECK:      %x.grad = glow.conv2d %e, %w strides [2, 2] : tensor<2x4x3x3xf32>
// CHECK-NEXT: %0 = glow.transpose %e permutation [1, 0, 2, 3] : tensor<2x2x6x6xf32>
// CHECK-NEXT: %1 = glow.transpose %x permutation [1, 0, 2, 3] : tensor<4x2x3x3xf32>
// CHECK-NEXT: %2 = glow.conv2d %0, %1 dilations [2, 2] : tensor<2x4x2x2xf32>
// CHECK-NEXT: %w.grad = glow.transpose %2 permutation [1, 0, 2, 3] : tensor<4x2x2x2xf32>
// CHECK-NEXT: %b.grad = glow.reduce_sum %e axes [0, 2, 3] : tensor<2xf32>
// CHECK-NEXT: func.return %loss, %x.grad, %w.grad, %b.grad : tensor<f32>, tensor<2x4x3x3xf32>, tensor<4x2x2x2xf32>, tensor<2xf32>
func.func @transposed(%x: tensor<2x4x3x3xf32>, %w: tensor<4x2x2x2xf32>, %b: tensor<2xf32>) -> tensor<f32> {
  %y = glow.conv_transpose2d %x, %w, %b strides [2, 2] : tensor<2x2x6x6xf32>
  %e = glow.exp %y : tensor<2x2x6x6xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}
