module @jit_network attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<13xf32>, %arg1: tensor<13xf32>, %arg2: tensor<13xf32>, %arg3: tensor<13xf32>) -> (tensor<13xf32> {jax.result_info = "result[0]"}, tensor<13xf32> {jax.result_info = "result[1]"}, tensor<13xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.atan2 %arg0, %arg1 : tensor<13xf32>
    %1 = chlo.erf_inv %arg2 : tensor<13xf32> -> tensor<13xf32>
    %2 = chlo.lgamma %arg3 : tensor<13xf32> -> tensor<13xf32>
    return %0, %1, %2 : tensor<13xf32>, tensor<13xf32>, tensor<13xf32>
  }
}
