#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<2x4x9xf32>) -> (tensor<2x3x19xf32>, tensor<2x4x5xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense_resource<torch_tensor_3_torch.float32> : tensor<3xf32>
    %cst_2 = arith.constant dense_resource<torch_tensor_6_3_4_torch.float32> : tensor<6x3x4xf32>
    %cst_3 = arith.constant dense_resource<torch_tensor_6_2_3_torch.float32> : tensor<6x2x3xf32>
    %cst_4 = arith.constant dense_resource<torch_tensor_6_torch.float32> : tensor<6xf32>
    %c3 = arith.constant 3 : index
    %cst_5 = arith.constant 2.000000e+00 : f32
    %cst_6 = arith.constant 3.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3]] output_shape [2, 4, 9, 1] : tensor<2x4x9xf32> into tensor<2x4x9x1xf32>
    %padded = tensor.pad %expanded low[0, 0, 2, 0] high[0, 0, 2, 0] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst : f32
    } : tensor<2x4x9x1xf32> to tensor<2x4x13x1xf32>
    %0 = tensor.empty() : tensor<2x6x9x1xf32>
    %broadcasted = linalg.broadcast ins(%cst_4 : tensor<6xf32>) outs(%0 : tensor<2x6x9x1xf32>) dimensions = [0, 2, 3] 
    %expanded_7 = tensor.expand_shape %padded [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 13, 1] : tensor<2x4x13x1xf32> into tensor<2x2x2x13x1xf32>
    %expanded_8 = tensor.expand_shape %cst_3 [[0, 1], [2], [3, 4]] output_shape [2, 3, 2, 3, 1] : tensor<6x2x3xf32> into tensor<2x3x2x3x1xf32>
    %expanded_9 = tensor.expand_shape %broadcasted [[0], [1, 2], [3], [4]] output_shape [2, 2, 3, 9, 1] : tensor<2x6x9x1xf32> into tensor<2x2x3x9x1xf32>
    %1 = linalg.conv_2d_ngchw_gfchw {dilations = dense<[2, 1]> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%expanded_7, %expanded_8 : tensor<2x2x2x13x1xf32>, tensor<2x3x2x3x1xf32>) outs(%expanded_9 : tensor<2x2x3x9x1xf32>) -> tensor<2x2x3x9x1xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3, 4]] : tensor<2x2x3x9x1xf32> into tensor<2x6x9xf32>
    %2 = tensor.empty() : tensor<2x6x9xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<2x6x9xf32>) outs(%2 : tensor<2x6x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %24 = arith.cmpf ugt, %in, %cst : f32
      %25 = arith.select %24, %in, %cst : f32
      linalg.yield %25 : f32
    } -> tensor<2x6x9xf32>
    %4 = tensor.empty() : tensor<3x6x4xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<3x6x4xf32>) -> tensor<3x6x4xf32>
    %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel"]} outs(%5 : tensor<3x6x4xf32>) {
    ^bb0(%out: f32):
      %24 = linalg.index 0 : index
      %25 = linalg.index 1 : index
      %26 = linalg.index 2 : index
      %27 = arith.subi %c3, %26 : index
      %extracted = tensor.extract %cst_2[%25, %24, %27] : tensor<6x3x4xf32>
      linalg.yield %extracted : f32
    } -> tensor<3x6x4xf32>
    %7 = tensor.empty() : tensor<2x6x22xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<2x6x22xf32>) -> tensor<2x6x22xf32>
    %inserted_slice = tensor.insert_slice %3 into %8[0, 0, 2] [2, 6, 9] [1, 1, 2] : tensor<2x6x9xf32> into tensor<2x6x22xf32>
    %9 = tensor.empty() : tensor<2x3x19xf32>
    %broadcasted_10 = linalg.broadcast ins(%cst_1 : tensor<3xf32>) outs(%9 : tensor<2x3x19xf32>) dimensions = [0, 2] 
    %10 = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>} ins(%inserted_slice, %6 : tensor<2x6x22xf32>, tensor<3x6x4xf32>) outs(%broadcasted_10 : tensor<2x3x19xf32>) -> tensor<2x3x19xf32>
    %expanded_11 = tensor.expand_shape %arg0 [[0], [1], [2, 3]] output_shape [2, 4, 1, 9] : tensor<2x4x9xf32> into tensor<2x4x1x9xf32>
    %padded_12 = tensor.pad %expanded_11 low[0, 0, 0, 1] high[0, 0, 0, 1] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst_0 : f32
    } : tensor<2x4x1x9xf32> to tensor<2x4x1x11xf32>
    %11 = tensor.empty() : tensor<2x4x1x5xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<2x4x1x5xf32>) -> tensor<2x4x1x5xf32>
    %13 = tensor.empty() : tensor<1x3xf32>
    %14 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<[1, 2]> : vector<2xi64>} ins(%padded_12, %13 : tensor<2x4x1x11xf32>, tensor<1x3xf32>) outs(%12 : tensor<2x4x1x5xf32>) -> tensor<2x4x1x5xf32>
    %collapsed_13 = tensor.collapse_shape %14 [[0], [1, 2], [3]] : tensor<2x4x1x5xf32> into tensor<2x4x5xf32>
    %15 = tensor.empty() : tensor<2x4x1x4xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<2x4x1x4xf32>) -> tensor<2x4x1x4xf32>
    %17 = tensor.empty() : tensor<1x2xf32>
    %18 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<[1, 2]> : vector<2xi64>} ins(%expanded_11, %17 : tensor<2x4x1x9xf32>, tensor<1x2xf32>) outs(%16 : tensor<2x4x1x4xf32>) -> tensor<2x4x1x4xf32>
    %19 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x1x4xf32>) outs(%15 : tensor<2x4x1x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %24 = arith.divf %in, %cst_5 : f32
      linalg.yield %24 : f32
    } -> tensor<2x4x1x4xf32>
    %collapsed_14 = tensor.collapse_shape %19 [[0], [1, 2], [3]] : tensor<2x4x1x4xf32> into tensor<2x4x4xf32>
    %20 = tensor.empty() : tensor<2x4x1x3xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<2x4x1x3xf32>) -> tensor<2x4x1x3xf32>
    %22 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<[1, 3]> : vector<2xi64>} ins(%expanded_11, %13 : tensor<2x4x1x9xf32>, tensor<1x3xf32>) outs(%21 : tensor<2x4x1x3xf32>) -> tensor<2x4x1x3xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x1x3xf32>) outs(%20 : tensor<2x4x1x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %24 = arith.divf %in, %cst_6 : f32
      linalg.yield %24 : f32
    } -> tensor<2x4x1x3xf32>
    %collapsed_15 = tensor.collapse_shape %23 [[0], [1, 2], [3]] : tensor<2x4x1x3xf32> into tensor<2x4x3xf32>
    return %10, %collapsed_13, %collapsed_14, %collapsed_15 : tensor<2x3x19xf32>, tensor<2x4x5xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_3_torch.float32: "0x040000000ECAC8BD1643203B5E6F583E",
      torch_tensor_6_3_4_torch.float32: "0x0400000027D600BE242E89BDC20A9E3DDF15373C574F26BE847B09BE990B92BD3C147C3ED630453E110A7EBE443420BE6B14DC3D33B7CBBD2F5EB8BDB5C570BEAEB7F1BC8BF4CB3D8126833EE570A0BDE4E6E9BD448F5A3D4B7DBB3C08590F3D4A2189BE96CF663E23115FBB24F7CABCCD39BFBD4B3488BEAD7DC3BD01B087BE773FF33D9B141BBE811486BE16C115BECA4AE73DE68324BED77364BE5C82E8BD99F08A3E545B233E256B8D3D4E3498BD313DF1BD767A723D3293543E2A0E64BE790F663E4B438EBE7E9B85BE2CF88CBE9655BF3D8436423CC769933D60DA58BE608932BEDB4AF93D12DF523EC5FD77BE655A833CA9FF9CBCCFED8FBDCD77CC3D4A5A61BE0432113E083EE6BDC384473E309592BD18374F3E327345BE943086BE3D4F913E",
      torch_tensor_6_2_3_torch.float32: "0x040000004397673E31FDCF3EC372B2BE87C16CBE411CCB3EAB8BA13ED263DA3D3B38BF3E95590ABCF989C53DFE5D473EA832C33E45F39CBE481F3B3EB71C2A3E78C92EBEE75732BEA7801F3EE8F978BEA481613E7CF7883E783A4D3E3D7065BE02BAC43E8D491F3E5321CDBE52B2C9BE1733143E65DB403E7051B53E57C9A13EE5CA813E8791FBBD34E7E2BCCBEA82BE1DF15E3C",
      torch_tensor_6_torch.float32: "0x040000007899B03D9EB13E3E514DAC3DA3B9973DF1E8B3392BD7A3BE"
    }
  }
#-}
