// A convolution by its maps.
func.func @main(%a: tensor<2x3x9xf32>, %b: tensor<4x3x3xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %s = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(n, f, o, c, k) -> (n, c, o * 2 + k)>, affine_map<(n, f, o, c, k) -> (f, c, k)>, affine_map<(n, f, o, c, k) -> (n, f, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<2x3x9xf32>, tensor<4x3x3xf32>) outs(%s : tensor<2x4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
