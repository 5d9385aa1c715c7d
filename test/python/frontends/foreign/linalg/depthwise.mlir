// Depthwise, with a multiplier, behind a border.
func.func @main(%a: tensor<1x4x4x2xf32>, %w: tensor<1x1x2x3xf32>) -> tensor<1x6x4x2x3xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 1, 0, 0] high[0, 1, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : f32
  } : tensor<1x4x4x2xf32> to tensor<1x6x4x2xf32>
  %e = tensor.empty() : tensor<1x6x4x2x3xf32>
  %s = linalg.fill ins(%z : f32) outs(%e : tensor<1x6x4x2x3xf32>) -> tensor<1x6x4x2x3xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x6x4x2xf32>, tensor<1x1x2x3xf32>) outs(%s : tensor<1x6x4x2x3xf32>) -> tensor<1x6x4x2x3xf32>
  return %0 : tensor<1x6x4x2x3xf32>
}
