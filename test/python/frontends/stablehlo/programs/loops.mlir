module @jit_network attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3xf32>, %arg1: tensor<i32>) -> (tensor<3x3xf32> {jax.result_info = "result[0]"}, tensor<3x3xf32> {jax.result_info = "result[1]"}, tensor<3x3xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.abs %arg0 : tensor<3x3xf32>
    %1 = stablehlo.while(%iterArg = %0) : tensor<3x3xf32>
    cond {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.reduce(%iterArg init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<f32>
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %7 = stablehlo.compare GT, %6, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
      %7 = stablehlo.divide %iterArg, %6 : tensor<3x3xf32>
      stablehlo.return %7 : tensor<3x3xf32>
    }
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2:4 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %c_0, %iterArg_3 = %c, %iterArg_4 = %arg0) : tensor<3x3xf32>, tensor<i32>, tensor<i32>, tensor<3x3xf32>
    cond {
      %c_5 = stablehlo.constant dense<4> : tensor<i32>
      %6 = stablehlo.compare LT, %iterArg_2, %c_5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6:2 = func.call @closed_call(%iterArg, %iterArg_3, %iterArg_4) : (tensor<3x3xf32>, tensor<i32>, tensor<3x3xf32>) -> (tensor<i32>, tensor<3x3xf32>)
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg_2, %c_5 : tensor<i32>
      stablehlo.return %iterArg, %7, %6#0, %6#1 : tensor<3x3xf32>, tensor<i32>, tensor<i32>, tensor<3x3xf32>
    }
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.compare GT, %arg1, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.convert %3 : (tensor<i1>) -> tensor<i32>
    %5 = "stablehlo.case"(%4) ({
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
      %7 = stablehlo.subtract %arg0, %6 : tensor<3x3xf32>
      stablehlo.return %7 : tensor<3x3xf32>
    }, {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
      %7 = stablehlo.multiply %arg0, %6 : tensor<3x3xf32>
      stablehlo.return %7 : tensor<3x3xf32>
    }) : (tensor<i32>) -> tensor<3x3xf32>
    return %1, %2#3, %5 : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<3x3xf32>, %arg1: tensor<i32>, %arg2: tensor<3x3xf32>) -> (tensor<i32>, tensor<3x3xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg1, %c : tensor<i32>
    %1 = stablehlo.multiply %arg2, %arg0 : tensor<3x3xf32>
    %2 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %4 = stablehlo.add %1, %3 : tensor<3x3xf32>
    return %0, %4 : tensor<i32>, tensor<3x3xf32>
  }
}
