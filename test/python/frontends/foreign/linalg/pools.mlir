// Pools, map, reduce, broadcast and slices.
func.func @main(%a: tensor<1x4x4x3xf32>) -> (tensor<1x2x2x3xf32>, tensor<3xf32>, tensor<2x4xf32>) {
  %z = arith.constant 0.0 : f32
  %l = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x2x3xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %s = linalg.fill ins(%l : f32) outs(%e : tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %0 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%a, %w : tensor<1x4x4x3xf32>, tensor<2x2xf32>) outs(%s : tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  %f = tensor.empty() : tensor<3xf32>
  %t = linalg.fill ins(%z : f32) outs(%f : tensor<3xf32>) -> tensor<3xf32>
  %c = tensor.collapse_shape %0 [[0, 1, 2], [3]] : tensor<1x2x2x3xf32> into tensor<4x3xf32>
  %1 = linalg.reduce { arith.addf } ins(%c : tensor<4x3xf32>) outs(%t : tensor<3xf32>) dimensions = [0]
  %m = linalg.map { math.exp } ins(%1 : tensor<3xf32>) outs(%f : tensor<3xf32>)
  %x = tensor.extract_slice %m[1] [2] [1] : tensor<3xf32> to tensor<2xf32>
  %g = tensor.empty() : tensor<2x4xf32>
  %2 = linalg.broadcast ins(%x : tensor<2xf32>) outs(%g : tensor<2x4xf32>) dimensions = [1]
  return %0, %1, %2 : tensor<1x2x2x3xf32>, tensor<3xf32>, tensor<2x4xf32>
}
