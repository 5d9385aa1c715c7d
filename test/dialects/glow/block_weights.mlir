// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --optimize-graph %s | filecheck %s --check-prefix KEPT
// RUN: glow-opt --lower-quantized %s | filecheck %s --check-prefix LOWERED

// Scales of half a column each; the last block is cut short. The graph keeps the codes as they are,
// and the default lowering makes floats of them.

// CHECK-LABEL: @weights
// CHECK: glow.block_dequantize %codes, %scales block_size 2 : tensor<3x2xf32>
// KEPT-LABEL: @weights
// KEPT: glow.block_dequantize %codes, %scales block_size 2 : tensor<3x2xf32>
// LOWERED-LABEL: @weights
// LOWERED-NEXT: glow.constant dense<{{\[\[}}5.000000e-01, -8.000000e+00], [1.500000e+00, 7.000000e+00], [6.000000e+00, -2.000000e+00]]> : tensor<3x2xf32>
// LOWERED-NEXT: func.return
func.func @weights() -> tensor<3x2xf32> {
  %codes = glow.constant dense<[[1, -8], [3, 7], [3, -1]]> : tensor<3x2xi4>
  %scales = glow.constant dense<[[0.5, 1.0], [2.0, 2.0]]> : tensor<2x2xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 2 : tensor<3x2xf32>
  func.return %w : tensor<3x2xf32>
}

// Along the other axis, less zero points.

// CHECK-LABEL: @points
// CHECK: glow.block_dequantize %codes, %scales, %points axis 1 block_size 2 : tensor<1x4xf32>
// LOWERED-LABEL: @points
// LOWERED-NEXT: glow.constant dense<{{\[\[}}0.000000e+00, 5.000000e-01, -4.000000e+00, 2.460000e+02]]> : tensor<1x4xf32>
func.func @points() -> tensor<1x4xf32> {
  %codes = glow.constant dense<[[1, 2, 3, 128]]> : tensor<1x4xui8>
  %scales = glow.constant dense<[[0.5, 2.0]]> : tensor<1x2xf32>
  %points = glow.constant dense<[[1, 5]]> : tensor<1x2xui8>
  %w = glow.block_dequantize %codes, %scales, %points axis 1 block_size 2 : tensor<1x4xf32>
  func.return %w : tensor<1x4xf32>
}

// Of scales that are computed, in nodes on floats.

// CHECK-LABEL: @computed
// LOWERED-LABEL: @computed
// LOWERED-NOT: block_dequantize
// LOWERED: glow.convert %codes : tensor<3x2xf32>
// LOWERED: glow.sub
// LOWERED: glow.broadcast %{{.*}} : tensor<2x2x2xf32>
// LOWERED: glow.slice %{{.*}} starts [0, 0] sizes [3, 2]
// LOWERED: glow.mul
func.func @computed(%codes: tensor<3x2xi8>, %scales: tensor<2x2xf32>, %points: tensor<2x2xi8>) -> tensor<3x2xf32> {
  %w = glow.block_dequantize %codes, %scales, %points axis 0 block_size 2 : tensor<3x2xf32>
  func.return %w : tensor<3x2xf32>
}
