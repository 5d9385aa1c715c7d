module @jit_network attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x8x8x4xf32>) -> (tensor<1x8x8x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<[[[[0.0353931673, -0.137026608, 0.476750612, -0.279554337, 0.269079387, -0.386005133, 0.206271723, -0.0323398411, -0.796548605, -0.00184294605, -0.329035133, -0.137034461, 0.474465549, -0.344574332, -0.326985121, 0.444264859], [0.0357590765, 0.475419283, 0.0997822135, -0.272119403, -0.0204502121, 0.379238516, 0.290251553, 2.7345962E-4, 0.0150431013, -0.0347101316, -0.178400144, 0.595763922, 0.002217951, -0.348872721, -0.147125259, 0.224045962], [0.197867826, -0.0422997102, -0.206177086, 0.00737463636, -0.516206264, -0.401532978, 0.246419877, -0.147830635, 0.115645178, 0.375777751, 0.200373754, 0.0063568959, 0.656394541, 0.205949634, -0.109338105, 0.225809023], [0.125803947, -0.263995796, 0.0225045606, -0.0508872606, -0.606465697, -0.0531754382, -8.731660e-02, -0.135191798, -0.507329047, -0.109395005, -0.0122406268, 0.0314386636, -0.350207865, 1.950680e-01, -0.374901414, -0.0690123662]]]]> : tensor<1x1x4x16xf32>
    %cst_0 = stablehlo.constant dense<"0x2B14CE3EDFA65ABED04721BE9C79A93E1183F2BDAE8CBBBD6EB08B3D2AA5A53E5BEC2DBF69BD82BE74F69EBE852CABBEDAD386BE755584BE7BFBBD3D521A8CBE66511A3DDCC6FC3D4CCD65BECE81243D5ED5003F00C9CA3D649848BE267BA3BC621190BEC245AA3D508B873E4FB580BE757283BD4EB0AE3EF1341CBE390E6C3D89AFA0BEC18780BED2CE20BE3124273F0652FBBDA6CD22BE57032DBEFF7D4BBD7280493E8AD8683D480A1E3FF55A833D3F52DE3EE502AA3DDE083A3EA9BCDDBE72211CBD2B72A9BCD54595BD515725BF9043873E7BDDEDBD559306BE00C79CBDC1218CBD0C1FFA3D063BC3BE10028FBEAA90B23D65E4323DAE6AE7BD4F4E30BEEA2A80BEE5698FBC4A5CB53E4084A2BE4EFBE93EB4A2813E85260BBE848F703EAB29E1BE26FC04BF4D1CC6BE8CBFFBBD90EEC7BD73401EBE5957F43CD5FA23BFDD2B183E2B01DABE68034BBEC3A7FDBD0D98B1BEE795D2BEBE889ABEA86D6ABB163E353E43552D3EFBC098BE292C73BE97678DBEAE2E0A3E50791CBF7B35BE3E9BEE14BEE7B270BE778FD03D3C9C9E3EB07BD23D99B3A13EA119253D5BDFBC3EAF41BF3EA57AF4BCE10FDD3EBE6C4A3D7D8CD53CD2898DBE2B6DB1BD98DF6E3E609FC9BE8390473E8C30D63DA388AA3D677529BFD4BAFDBC3E25473E38616ABE10F0DD3CD3A236BF7F404E3ED67F4BBE26D7853EA7860DBF1FAA543E549391BD8C18783E64308EBE71FD3DBE63382C3F18F67EBE3DE458BE98EEA9BDA5109DBEAADAB63E247B043F274D58BE2C8F04BF0604B43EB03FAA3EE8697C3EE1A3B13E"> : tensor<3x3x1x16xf32>
    %cst_1 = stablehlo.constant dense<[[0.0329276919, 0.672614753, 0.108407006, -0.244841188], [0.220388398, -0.354504287, 0.338494956, 0.361793339], [-0.171887755, -0.188370556, 0.05295128, 0.00424654549], [-0.293306291, 0.170426354, -0.612562716, -0.129857838], [-0.121182293, -0.0819796621, 0.0921671688, -0.368406743], [0.176554531, -0.0540462062, -0.195064828, -0.410047829], [-0.354932785, 0.108097434, -0.289154738, 0.0192596093], [0.318594873, 0.309792787, 0.468119085, -0.0888879969], [-0.325544715, 0.306157649, 0.092881158, 0.337185204], [0.0033168213, 0.358693808, 0.253916234, 0.214926273], [0.151056856, 0.119309701, 0.0699107423, 0.0677718744], [0.297058374, -0.153593898, 0.520705521, -0.0318727642], [0.29561466, -0.027072357, -7.399980e-02, 0.609672427], [-0.0928034335, -0.383165032, -0.214224651, -0.0951683893], [0.64655757, 0.06202678, 0.280414015, -0.300479978], [0.105782486, 0.201443508, 0.540488064, -0.20888114]]> : tensor<16x4xf32>
    %cst_2 = stablehlo.constant dense<[[0.181046844, 0.0907751694, -0.306514412, -0.00583687052, -0.0790424719, -0.697609603, 0.179600731, 0.162073031, -0.131680444, -0.401568592, 0.443964273, 0.0797997862, 0.305010378, 0.423096538, -0.156272039, 0.243646353], [-0.0723447055, -0.0187645927, -0.0256846845, -3.9567973E-4, 0.334188074, 0.0371482596, -0.0461198241, -0.0829611718, 0.102394246, -0.268460423, -0.150797531, -0.0156841744, -0.16975449, -0.0355428457, -0.183233052, 0.601187348], [0.398718208, 0.134985656, -0.0160855558, 0.657229244, 0.0968858748, -0.0260536522, 0.0909379124, 0.0917829647, 0.423095316, -0.0056894077, 0.629797458, -0.264606386, 0.208215058, -0.300548047, 0.545130312, -0.0991696342], [-0.0174567811, 0.277271062, 0.376602203, -0.33356306, -0.103847697, -0.418476969, 0.0411915444, -0.0304117613, -0.10468021, -0.205338404, -0.115771942, -0.223918602, 0.158688545, 0.454785019, -0.579217255, -0.0347902551]]> : tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<[[[[-0.260257572, -0.0505489223, -0.415232867, -0.425448835], [0.294330388, -0.201573983, 0.683871508, 0.022254033], [-0.192127451, 0.239365563, 0.54037869, 0.145839289], [-0.365143538, 0.111300841, 0.412679404, -0.147972286], [-0.232092589, 0.304934382, 0.0419903211, -0.330762625], [-0.113923982, -0.226698741, 0.0888805985, 0.0329053551], [0.345134109, 0.212899506, -0.469060212, 0.122097157], [0.269079685, 0.136763781, 0.309017897, -0.164873093], [-0.285249561, 2.790210e-01, -0.319639415, -0.647861242], [0.307589978, -0.217255473, -0.09181986, -0.419393808], [-0.397658288, -0.346976638, -0.108194955, 0.110999726], [-0.689343392, 0.22565195, -0.354599446, -0.319893539], [0.203356624, -0.0223901793, -0.460930139, 0.553377807], [-0.258186489, 0.0741947889, 0.0599671043, 0.423398137], [-0.136700645, 0.302426904, -0.222566858, 0.336638659], [-0.228895396, -0.108662732, 0.568789959, 0.0950914174]]]]> : tensor<1x1x16x4xf32>
    %0 = stablehlo.convolution(%arg0, %cst) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<1x1x4x16xf32>) -> tensor<1x8x8x16xf32>
    %1 = call @silu(%0) : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
    %2 = stablehlo.convolution(%1, %cst_0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x8x8x16xf32>
    %3 = call @silu(%2) : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_4) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x8x8x16xf32>, tensor<f32>) -> tensor<1x16xf32>
    %cst_5 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x16xf32>
    %6 = stablehlo.divide %4, %5 : tensor<1x16xf32>
    %7 = stablehlo.dot_general %6, %cst_1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x16xf32>, tensor<16x4xf32>) -> tensor<1x4xf32>
    %8 = call @silu_0(%7) : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %9 = stablehlo.dot_general %8, %cst_2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x4xf32>, tensor<4x16xf32>) -> tensor<1x16xf32>
    %10 = stablehlo.negate %9 : tensor<1x16xf32>
    %11 = stablehlo.exponential %10 : tensor<1x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x16xf32>
    %13 = stablehlo.add %12, %11 : tensor<1x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x16xf32>
    %15 = stablehlo.divide %14, %13 : tensor<1x16xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 3] : (tensor<1x16xf32>) -> tensor<1x1x1x16xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<1x8x8x16xf32>
    %18 = stablehlo.multiply %3, %17 : tensor<1x8x8x16xf32>
    %19 = stablehlo.convolution(%18, %cst_3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x16xf32>, tensor<1x1x16x4xf32>) -> tensor<1x8x8x4xf32>
    %20 = stablehlo.add %19, %arg0 : tensor<1x8x8x4xf32>
    return %20 : tensor<1x8x8x4xf32>
  }
  func.func private @silu(%arg0: tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x8x8x16xf32>
    %1 = stablehlo.exponential %0 : tensor<1x8x8x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x8x8x16xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x8x8x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x8x8x16xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x8x8x16xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x8x8x16xf32>
    return %6 : tensor<1x8x8x16xf32>
  }
  func.func private @silu_0(%arg0: tensor<1x4xf32>) -> tensor<1x4xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x4xf32>
    %1 = stablehlo.exponential %0 : tensor<1x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x4xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x4xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x4xf32>
    return %6 : tensor<1x4xf32>
  }
}
