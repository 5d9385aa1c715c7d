// RUN: glow-opt --shrink-convolutions %s | filecheck %s

// Weights in the padding meet the zero point, which counts as 0 as in floats.
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>
!y = !quant.uniform<u8:f32, 4.0:7>

// CHECK-LABEL: @strides
// CHECK: glow.conv2d %x, %w : tensor<1x2x1x1x!quant.uniform<u8:f32, 4.000000e+00:7>>
func.func @strides(%x: tensor<1x1x2x2x!x>) -> tensor<1x2x1x1x!y> {
  %w = glow.constant dense<[[[[1, 2], [3, 4]]], [[[9, -9], [5, 6]]]]> : tensor<2x1x2x2xi8> as tensor<2x1x2x2x!w>
  %y = glow.conv2d %x, %w strides [2, 2] : tensor<1x2x1x1x!y>
  func.return %y : tensor<1x2x1x1x!y>
}

// CHECK-LABEL: @pads
// CHECK: %[[W:.*]] = glow.constant dense<{{.*}}5{{.*}}-5{{.*}}> : tensor<2x1x1x1xi8> as tensor<2x1x1x1x!quant.uniform<i8<-127:127>:f32:0, {2.500000e-01, 5.000000e-01}>>
// CHECK-NEXT: glow.conv2d %x, %[[W]] : tensor<1x2x1x1x!quant.uniform<u8:f32, 4.000000e+00:7>>
func.func @pads(%x: tensor<1x1x1x1x!x>) -> tensor<1x2x1x1x!y> {
  %w = glow.constant dense<[[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], [[[1, 2, 3], [4, -5, 6], [7, 8, 9]]]]> : tensor<2x1x3x3xi8> as tensor<2x1x3x3x!w>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x2x1x1x!y>
  func.return %y : tensor<1x2x1x1x!y>
}
