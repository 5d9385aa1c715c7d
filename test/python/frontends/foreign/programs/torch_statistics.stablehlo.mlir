module {
  func.func @main(%arg0: tensor<4x7xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<7xf32>, tensor<4xi64>, tensor<7xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x7xf32>, tensor<4xf32>, tensor<4xi1>, tensor<i64>, tensor<4xf32>, tensor<4xi64>, tensor<1x7xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_3 = stablehlo.constant dense<false> : tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %cst_5 = arith.constant dense<28> : tensor<1xi64>
    %cst_6 = arith.constant dense<7> : tensor<1xi64>
    %cst_7 = arith.constant dense<6.000000e+00> : tensor<1xf64>
    %cst_8 = arith.constant dense<4> : tensor<1xi64>
    %cst_9 = arith.constant dense<2> : tensor<1xi64>
    %cst_10 = arith.constant dense<0x7FF0000000000000> : tensor<1xf64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.convert %cst_5 : (tensor<1xi64>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.divide %0, %2 : tensor<f32>
    %4 = stablehlo.convert %arg0 : (tensor<4x7xf32>) -> tensor<4x7xf64>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf64>, tensor<f64>) -> tensor<4xf64>
    %6 = stablehlo.reshape %5 : (tensor<4xf64>) -> tensor<4x1xf64>
    %7 = stablehlo.convert %cst_6 : (tensor<1xi64>) -> tensor<1xf64>
    %8 = stablehlo.reshape %7 : (tensor<1xf64>) -> tensor<f64>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %10 = stablehlo.divide %6, %9 : tensor<4x1xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x7xf64>
    %12 = stablehlo.subtract %4, %11 : tensor<4x7xf64>
    %13 = stablehlo.multiply %12, %12 : tensor<4x7xf64>
    %14 = stablehlo.reduce(%13 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf64>, tensor<f64>) -> tensor<4xf64>
    %15 = stablehlo.convert %cst_7 : tensor<1xf64>
    %16 = stablehlo.reshape %15 : (tensor<1xf64>) -> tensor<f64>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %18 = stablehlo.divide %14, %17 : tensor<4xf64>
    %19 = stablehlo.convert %18 : (tensor<4xf64>) -> tensor<4xf32>
    %20 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<4x7xf64>, tensor<f64>) -> tensor<7xf64>
    %21 = stablehlo.reshape %20 : (tensor<7xf64>) -> tensor<1x7xf64>
    %22 = stablehlo.convert %cst_8 : (tensor<1xi64>) -> tensor<1xf64>
    %23 = stablehlo.reshape %22 : (tensor<1xf64>) -> tensor<f64>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f64>) -> tensor<1x7xf64>
    %25 = stablehlo.divide %21, %24 : tensor<1x7xf64>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<1x7xf64>) -> tensor<4x7xf64>
    %27 = stablehlo.subtract %4, %26 : tensor<4x7xf64>
    %28 = stablehlo.multiply %27, %27 : tensor<4x7xf64>
    %29 = stablehlo.reduce(%28 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<4x7xf64>, tensor<f64>) -> tensor<7xf64>
    %30 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f64>) -> tensor<7xf64>
    %31 = stablehlo.divide %29, %30 : tensor<7xf64>
    %32 = stablehlo.convert %31 : (tensor<7xf64>) -> tensor<7xf32>
    %33 = stablehlo.sqrt %32 : tensor<7xf32>
    %34 = stablehlo.iota dim = 1 : tensor<4x7xi64>
    %35:2 = stablehlo.reduce(%arg0 init: %cst_1), (%34 init: %c) across dimensions = [1] : (tensor<4x7xf32>, tensor<4x7xi64>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi64>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %76 = stablehlo.compare GE, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %77 = stablehlo.select %76, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %78 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %79 = stablehlo.minimum %arg2, %arg4 : tensor<i64>
      %80 = stablehlo.select %76, %arg2, %arg4 : tensor<i1>, tensor<i64>
      %81 = stablehlo.select %78, %79, %80 : tensor<i1>, tensor<i64>
      stablehlo.return %77, %81 : tensor<f32>, tensor<i64>
    }
    %36 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.maximum across dimensions = [0] : (tensor<4x7xf32>, tensor<f32>) -> tensor<7xf32>
    %37 = stablehlo.convert %cst_9 : (tensor<1xi64>) -> tensor<1xf32>
    %38 = stablehlo.reshape %37 : (tensor<1xf32>) -> tensor<f32>
    %39 = stablehlo.abs %arg0 : tensor<4x7xf32>
    %40 = stablehlo.broadcast_in_dim %38, dims = [] : (tensor<f32>) -> tensor<4x7xf32>
    %41 = stablehlo.power %39, %40 : tensor<4x7xf32>
    %42 = stablehlo.reduce(%41 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
    %43 = stablehlo.divide %cst_2, %38 : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %45 = stablehlo.power %42, %44 : tensor<4xf32>
    %46 = stablehlo.reduce(%arg0 init: %cst_2) applies stablehlo.multiply across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
    %47 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 7>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %76 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %76 : tensor<f32>
    }) : (tensor<4x7xf32>, tensor<f32>) -> tensor<4x7xf32>
    %48 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
    %49 = stablehlo.reshape %48 : (tensor<4xf32>) -> tensor<4x1xf32>
    %50 = stablehlo.abs %49 : tensor<4x1xf32>
    %51 = stablehlo.convert %cst_10 : tensor<1xf64>
    %52 = stablehlo.reshape %51 : (tensor<1xf64>) -> tensor<f64>
    %53 = stablehlo.convert %52 : (tensor<f64>) -> tensor<f32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %55 = stablehlo.compare EQ, %50, %54, FLOAT : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<4x1xi1>) -> tensor<4x1xi1>
    %57 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %58 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %59 = stablehlo.select %56, %57, %58 : tensor<4x1xi1>, tensor<4x1xf32>
    %60 = stablehlo.reshape %59 : (tensor<4x1xf32>) -> tensor<4xf32>
    %61 = stablehlo.broadcast_in_dim %59, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x7xf32>
    %62 = stablehlo.subtract %arg0, %61 : tensor<4x7xf32>
    %63 = stablehlo.exponential %62 : tensor<4x7xf32>
    %64 = stablehlo.reduce(%63 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
    %65 = stablehlo.log %64 : tensor<4xf32>
    %66 = stablehlo.add %65, %60 : tensor<4xf32>
    %67 = stablehlo.convert %c : (tensor<i64>) -> tensor<f32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [] : (tensor<f32>) -> tensor<4x7xf32>
    %69 = stablehlo.compare GT, %arg0, %68, FLOAT : (tensor<4x7xf32>, tensor<4x7xf32>) -> tensor<4x7xi1>
    %70 = stablehlo.reduce(%69 init: %c_3) applies stablehlo.or across dimensions = [1] : (tensor<4x7xi1>, tensor<i1>) -> tensor<4xi1>
    %71 = stablehlo.convert %69 : (tensor<4x7xi1>) -> tensor<4x7xi64>
    %72 = stablehlo.reduce(%71 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x7xi64>, tensor<i64>) -> tensor<i64>
    %73:2 = stablehlo.reduce(%arg0 init: %cst_4), (%34 init: %c) across dimensions = [1] : (tensor<4x7xf32>, tensor<4x7xi64>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi64>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %76 = stablehlo.compare LE, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %77 = stablehlo.select %76, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %78 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %79 = stablehlo.minimum %arg2, %arg4 : tensor<i64>
      %80 = stablehlo.select %76, %arg2, %arg4 : tensor<i1>, tensor<i64>
      %81 = stablehlo.select %78, %79, %80 : tensor<i1>, tensor<i64>
      stablehlo.return %77, %81 : tensor<f32>, tensor<i64>
    }
    %74 = stablehlo.reduce(%39 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x7xf32>, tensor<f32>) -> tensor<7xf32>
    %75 = stablehlo.reshape %74 : (tensor<7xf32>) -> tensor<1x7xf32>
    return %3, %19, %33, %35#1, %36, %45, %46, %47, %66, %70, %72, %73#0, %73#1, %75 : tensor<f32>, tensor<4xf32>, tensor<7xf32>, tensor<4xi64>, tensor<7xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x7xf32>, tensor<4xf32>, tensor<4xi1>, tensor<i64>, tensor<4xf32>, tensor<4xi64>, tensor<1x7xf32>
  }
}
