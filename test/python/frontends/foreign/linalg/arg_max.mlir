// Argmax, transposed, with scalar functions that have no node.
func.func @main(%a: tensor<4x3xf32>) -> (tensor<4xi64>, tensor<3x4xf32>) {
  %z = arith.constant 0xFF800000 : f32
  %i = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4xi64>
  %g = tensor.empty() : tensor<3x4xf32>
  %s = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.fill ins(%i : i64) outs(%f : tensor<4xi64>) -> tensor<4xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x3xf32>) outs(%s, %t : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%x: f32, %o: f32, %p: i64):
    %k = linalg.index 1 : index
    %l = arith.index_cast %k : index to i64
    %m = arith.maximumf %x, %o : f32
    %c = arith.cmpf ogt, %x, %o : f32
    %n = arith.select %c, %l, %p : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %0#0 : tensor<4x3xf32>, tensor<4xf32>) outs(%g : tensor<3x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %d = arith.subf %x, %y : f32
    %q = math.expm1 %d : f32
    linalg.yield %q : f32
  } -> tensor<3x4xf32>
  return %0#1, %1 : tensor<4xi64>, tensor<3x4xf32>
}
