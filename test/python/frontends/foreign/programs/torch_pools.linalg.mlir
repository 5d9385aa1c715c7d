#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<1x4x9x10xf32>) -> (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x3x5xf32>, tensor<1x4x5x6xf32>) {
    %cst = arith.constant 0xFF800000 : f32
    %c2_i64 = arith.constant 2 : i64
    %c10_i64 = arith.constant 10 : i64
    %c9_i64 = arith.constant 9 : i64
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 9.000000e+00 : f32
    %cst_2 = arith.constant 6.000000e+00 : f32
    %padded = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst : f32
    } : tensor<1x4x9x10xf32> to tensor<1x4x11x12xf32>
    %0 = tensor.empty() : tensor<1x4x5x5xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %2 = tensor.empty() : tensor<3x3xf32>
    %3 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded, %2 : tensor<1x4x11x12xf32>, tensor<3x3xf32>) outs(%1 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %padded_3 = tensor.pad %arg0 low[0, 0, 0, 0] high[0, 0, 2, 2] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst : f32
    } : tensor<1x4x9x10xf32> to tensor<1x4x11x12xf32>
    %4 = tensor.empty() : tensor<2x2xf32>
    %5 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded_3, %4 : tensor<1x4x11x12xf32>, tensor<2x2xf32>) outs(%1 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %padded_4 = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst_0 : f32
    } : tensor<1x4x9x10xf32> to tensor<1x4x11x12xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %7 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded_4, %2 : tensor<1x4x11x12xf32>, tensor<3x3xf32>) outs(%6 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<1x4x5x5xf32>) outs(%0 : tensor<1x4x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.divf %in, %cst_1 : f32
      linalg.yield %19 : f32
    } -> tensor<1x4x5x5xf32>
    %padded_5 = tensor.pad %arg0 low[0, 0, 0, 0] high[0, 0, 2, 2] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst_0 : f32
    } : tensor<1x4x9x10xf32> to tensor<1x4x11x12xf32>
    %9 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded_5, %4 : tensor<1x4x11x12xf32>, tensor<2x2xf32>) outs(%6 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<1x4x5x5xf32>) outs(%0 : tensor<1x4x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = linalg.index 2 : index
      %20 = arith.index_cast %19 : index to i64
      %21 = arith.muli %20, %c2_i64 : i64
      %22 = arith.addi %21, %c2_i64 : i64
      %23 = arith.minsi %22, %c9_i64 : i64
      %24 = arith.subi %23, %21 : i64
      %25 = arith.maxsi %24, %c0_i64 : i64
      %26 = linalg.index 3 : index
      %27 = arith.index_cast %26 : index to i64
      %28 = arith.muli %27, %c2_i64 : i64
      %29 = arith.addi %28, %c2_i64 : i64
      %30 = arith.minsi %29, %c10_i64 : i64
      %31 = arith.subi %30, %28 : i64
      %32 = arith.maxsi %31, %c0_i64 : i64
      %33 = arith.muli %25, %32 : i64
      %34 = arith.sitofp %33 : i64 to f32
      %35 = arith.divf %in, %34 : f32
      linalg.yield %35 : f32
    } -> tensor<1x4x5x5xf32>
    %11 = tensor.empty() : tensor<1x4x3x5xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
    %13 = tensor.empty() : tensor<3x2xf32>
    %14 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<[3, 2]> : vector<2xi64>} ins(%arg0, %13 : tensor<1x4x9x10xf32>, tensor<3x2xf32>) outs(%12 : tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<1x4x3x5xf32>) outs(%11 : tensor<1x4x3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.divf %in, %cst_2 : f32
      linalg.yield %19 : f32
    } -> tensor<1x4x3x5xf32>
    %16 = tensor.empty() : tensor<1x4x5x6xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<1x4x5x6xf32>) -> tensor<1x4x5x6xf32>
    %18 = linalg.pooling_nchw_max {dilations = dense<2> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%arg0, %2 : tensor<1x4x9x10xf32>, tensor<3x3xf32>) outs(%17 : tensor<1x4x5x6xf32>) -> tensor<1x4x5x6xf32>
    return %3, %5, %8, %10, %15, %18 : tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x3x5xf32>, tensor<1x4x5x6xf32>
  }
}
