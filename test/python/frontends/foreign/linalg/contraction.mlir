// Transposed operands of a contraction.
func.func @main(%a: tensor<3x2x4xf32>, %b: tensor<2x5x3xf32>) -> tensor<5x2x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x2x4xf32>
  %s = linalg.fill ins(%z : f32) outs(%e : tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (k, b, m)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (n, b, m)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3x2x4xf32>, tensor<2x5x3xf32>) outs(%s : tensor<5x2x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}
