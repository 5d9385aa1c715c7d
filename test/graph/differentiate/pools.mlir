// RUN: glow-opt --split-input-file --differentiate='wrt=x' %s | filecheck %s

// Average pools: one window, blocks, and windows that overlap.

// CHECK-LABEL: func.func @whole(
// CHECK:      %0 = glow.splat 4.000000e-02 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %e, %0 : tensor<2x4x1x1xf32>
// CHECK-NEXT: %x.grad = glow.broadcast %1 : tensor<2x4x5x5xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x4x5x5xf32>
func.func @whole(%x: tensor<2x4x5x5xf32>) -> tensor<f32> {
  %y = glow.avg_pool2d %x kernel [5, 5] : tensor<2x4x1x1xf32>
  %e = glow.exp %y : tensor<2x4x1x1xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @blocks(
// CHECK:      %0 = glow.splat 2.500000e-01 : tensor<f32>
// CHECK-NEXT: %1 = glow.mul %e, %0 : tensor<2x4x2x2xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<2x4x2x1x2x1xf32>
// CHECK-NEXT: %3 = glow.broadcast %2 : tensor<2x4x2x2x2x2xf32>
// CHECK-NEXT: %4 = glow.reshape %3 : tensor<2x4x4x4xf32>
// CHECK-NEXT: %x.grad = glow.pad %4 pads [0, 0, 0, 0, 0, 0, 1, 1] : tensor<2x4x5x5xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x4x5x5xf32>
func.func @blocks(%x: tensor<2x4x5x5xf32>) -> tensor<f32> {
  %y = glow.avg_pool2d %x kernel [2, 2] strides [2, 2] : tensor<2x4x2x2xf32>
  %e = glow.exp %y : tensor<2x4x2x2xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}

// -----

// CHECK:      builtin.module attributes {glow.weights = #glow.weights<>} {
// CHECK-LABEL: func.func @overlapping(
// CHECK:      %0 = glow.constant dense<{{\[\[}}2.500000e-01, 0.166666672, 0.166666672, 0.166666672, 2.500000e-01], [0.166666672, 0.111111112, 0.111111112, 0.111111112, 0.166666672], [0.166666672, 0.111111112, 0.111111112, 0.111111112, 0.166666672], [0.166666672, 0.111111112, 0.111111112, 0.111111112, 0.166666672], [2.500000e-01, 0.166666672, 0.166666672, 0.166666672, 2.500000e-01]]> : tensor<5x5xf32>
// CHECK-NEXT: %1 = glow.mul %e, %0 : tensor<2x4x5x5xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<8x1x5x5xf32>
// CHECK-NEXT: %3 = glow.splat 1.000000e+00 : tensor<1x1x3x3xf32>
// CHECK-NEXT: %4 = glow.conv_transpose2d %2, %3 : tensor<8x1x7x7xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<2x4x7x7xf32>
// CHECK-NEXT: %x.grad = glow.pad %5 pads [0, 0, -1, -1, 0, 0, -1, -1] : tensor<2x4x5x5xf32>
// CHECK-NEXT: func.return %loss, %x.grad : tensor<f32>, tensor<2x4x5x5xf32>
func.func @overlapping(%x: tensor<2x4x5x5xf32>) -> tensor<f32> {
  %y = glow.avg_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<2x4x5x5xf32>
  %e = glow.exp %y : tensor<2x4x5x5xf32>
  %loss = glow.reduce_sum %e axes [0, 1, 2, 3] : tensor<f32>
  func.return %loss : tensor<f32>
}
