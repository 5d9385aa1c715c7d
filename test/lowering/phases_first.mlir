// RUN: glow-opt --phases-first %s | filecheck %s

// Outputs are in the order of phases: 0, 2, 1, 3 of two channels with two columns of phases.
// CHECK-LABEL: func.func @shuffle(
// CHECK-DAG: %[[W:.*]] = glow.constant dense<5.000000e-01> : tensor<16x8x1x1xf32>
// CHECK-DAG: %[[B:.*]] = glow.constant dense<[0.000000e+00, 4.000000e+00, 8.000000e+00, 1.200000e+01, 1.000000e+00, 5.000000e+00, 9.000000e+00, 1.300000e+01, 2.000000e+00, 6.000000e+00, 1.000000e+01, 1.400000e+01, 3.000000e+00, 7.000000e+00, 1.100000e+01, 1.500000e+01]> : tensor<16xf32>
// CHECK: %[[C:.*]] = glow.conv2d %x, %[[W]], %[[B]] activation "relu" : tensor<2x16x5x6xf32>
// CHECK-NEXT: %[[R:.*]] = glow.reshape %[[C]] : tensor<2x2x2x4x5x6xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[R]] permutation [0, 3, 4, 1, 5, 2] : tensor<2x4x5x2x6x2xf32>
// CHECK-NEXT: glow.reshape %[[T]] : tensor<2x4x10x12xf32>
func.func @shuffle(%x: tensor<2x8x5x6xf32>) -> tensor<2x4x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<16x8x1x1xf32>
  %b = glow.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  %0 = glow.conv2d %x, %w, %b activation "relu" : tensor<2x16x5x6xf32>
  %1 = glow.reshape %0 : tensor<2x4x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<2x4x5x2x6x2xf32>
  %3 = glow.reshape %2 : tensor<2x4x10x12xf32>
  func.return %3 : tensor<2x4x10x12xf32>
}

// Scales of output channels go with them.
// CHECK-LABEL: func.func @quantized(
// CHECK: tensor<8x1x1x1x!quant.uniform<i8:f32:0, {1.000000e+00, 3.000000e+00, 5.000000e+00, 7.000000e+00, 2.000000e+00, 4.000000e+00, 6.000000e+00, 8.000000e+00}>>
func.func @quantized(%x: tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4x4x8x!quant.uniform<i8:f32, 0.25>> {
  %w = glow.constant dense<[[[[1]]], [[[2]]], [[[3]]], [[[4]]], [[[5]]], [[[6]]], [[[7]]], [[[8]]]]> : tensor<8x1x1x1xi8> as tensor<8x1x1x1x!quant.uniform<i8:f32:0, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}>>
  %0 = glow.conv2d %x, %w : tensor<1x8x4x4x!quant.uniform<i8:f32, 0.25>>
  %1 = glow.reshape %0 : tensor<1x4x1x2x4x4x!quant.uniform<i8:f32, 0.25>>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x4x4x1x4x2x!quant.uniform<i8:f32, 0.25>>
  %3 = glow.reshape %2 : tensor<1x4x4x8x!quant.uniform<i8:f32, 0.25>>
  func.return %3 : tensor<1x4x4x8x!quant.uniform<i8:f32, 0.25>>
}
