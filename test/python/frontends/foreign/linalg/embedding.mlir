// Rows of a table, as torch-mlir reads them, beside the seed that it declares.
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
func.func @main(%x: tensor<2x3xi64>, %table: tensor<5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>) {
  %zero = arith.constant 0 : i64
  %five = arith.constant 5 : i64
  %two = arith.constant 2 : index
  %e = tensor.empty() : tensor<2x3x4xf32>
  %f = tensor.empty() : tensor<2x3xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xi64>) outs(%e : tensor<2x3x4xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 2 : index
    %below = arith.cmpi slt, %in, %five : i64
    cf.assert %below, "index must be smaller than dim size"
    %one = tensor.extract %table[%i, %j] : tensor<5x4xf32>
    linalg.yield %one : f32
  } -> tensor<2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi64>) outs(%f : tensor<2x3xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %one = tensor.extract %table[%i, %two] : tensor<5x4xf32>
    linalg.yield %one : f32
  } -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3x4xf32>, tensor<2x3xf32>
}
