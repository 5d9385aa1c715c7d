module @jit_pieces attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x2x6xf32>) -> (tensor<2x5x3xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<"0x7F4B0C3F5E550C3F87F197BD90F6003F0490C33DA690A33E3BD5883E41BD61BE8B7F243E71CA4C3EC3D135BED770303E5B960B3F40F252BE4A7C813EE99BFD3E3433CDBEA60AE6BEBF3D913DD9C0AE3E42589FBE197773BB0B0E8E3E873B133E01AC2D3C9A4D4D3CF157603FFF7312BFA494BCBE8D13AFBE92285F3ECE7F2E3E786A6CBFE5061C3C1E035D3EE8CD89BDFD71E33E4B66893DB70DA1BDC154643E34F4D83E9F86863E10B03B3EF60F4EBF9DDDBCBDD8A1ECB91BA51BBE364A223D907DD5BD387CA6BD94B65BBEEE1B8FBE46BD00BE89CC54BE92E40E3D881ED5BEDCC1A93EE5D13DBE7AEE7A3E9B65E9BEB78D9D3DBCEFAA3D8183FF3E1225823E9C28933EEF951EBEAA5D583EE367CD3E61F091BEBC91E1BDE262BFBEAFF7903DEEBC34BC3312D63D8D333FBE5B7A92BECFED61BE657D053E0DB49CBE5424B33E00CC40BD7D4389BE263F843EC2505FBE10F93F3F1864CDBD1CE079BD3689E83DD7F4A33EF53A0C3E6C4DF03C20C79F3D1F840E3E8079963EAC27943DB284CCBDF523AB3C3153323E92BC17BED53E003EE152C13ED27777BE4D0D4F3EBCE10D3EE5A3423E94E7FB3E1C0046BE53E3A4BEA8AD563ED1C912BFECFF63BD2EC788BDCE3FAD3D662A8DBEB650D93DBD82ABBE111004BD8BC6D9BD299472BE859F193F8B80973C41CF043EE3D9403FE4F7953ECDCF043E8E448E3E0920C6BEF9DCD33DB37BCA3E44BE043E5EECE1BDDD4B153FA064E3BEC89DD2BD5DB3DEBE0F5EA73DB8B51ABD13E4DDBDF37A5F3E4679B9BE17FFA93C9954F7BE5158B7BE0BF8E23DA9A4EE3EBC811B3F4B951C3D80FCCC3E2C90823E23AC29BFA5DC913EAEF2B1BD97E72BBEF38D88BE5DE60BBEADAB26BFB361143BC7AA483F70052CBF2191103F3DEEEC3DFA3DDBBDF2C20ABFA019EC3E6AE2D23DEC73A13E211423BE984250BE72FC9D3EC74FCDBD777FB23E4E88FABD004B143DA896A63EA2F4D0BD13DDD43E0A98523EB545A3BE3930BBBC005EB4BD63E70E3E12EC463FCF9B65BD04BF753E882EB03D0FFF08BDEF383EBFD09BAB3E8A1E523D7062A63ED014C43EDEB8CD3D"> : tensor<6x32xf32>
    %cst_0 = stablehlo.constant dense<"0xFB57ABBE3C68D93CC97C0A3F0D4E7C3D2F5D183FF2CD93BE7E8494BEAB2EC0BD18A921BE6AD8E83EFE92BEBE26C486BE9EC183BE91B0FF3D90890C3C03A6C63E95908ABE6F02CB3E13B8693DC0FC0C3FB31E893E5044DD3CF37DBFBE5E9193BE4FDAECBE50F20BBE0511053F2F6108BF74099FBE43489C3EF857943E6D17D83E968A04BEB2A268BEF6C735BF4C39983E70D82CBFCA680B3E61CFF13D3096AEBD58AE8E3DEFA5803CAF1211BE38CD0B3ECD2BE53D8AD13DBED722E2BEBA58ABBDC7B0AF3E5AD437BFB77920BE3B730CBE83E3543DB245063FFAF0E8BE63D887BD7B09A8BDDC68A8BEC2E012BE0C396ABCD76637BE70876B3E7A07F63D9AD6DDBDC4C0D43EA065C5BE4A25163D22BBD5BECCD292BE7F3C463EFFDA033ED52ABF3CB9B4D9BBDB08F6BE1DEE993EB5FE82BD38CA823E331B053ECB6CE7BD34A25D3EF637AF3EF966D23D0CE4063EB8A5F53E18A5663E3D4444BDDFBCA23D7CEB933E163004BE323142BDAD3A553EBC6F2A3D5E044FBD3A5650BE8B7D27BEBF98C13E036BA7BEF0110CBD0DD09BBE532E923E9E18943E8F95A53C0F2289BEC48B91BC0848903E62B9223FB6FE2DBECF49C2BE8DF5A43DCC2919BFAA9F7BBED3C9E4BEF14741BEF841DCBD16950CBDDD9ED43D0320C23D21F8053D5ECF5D3ED4C621BE2787B33E69F0B5BE744C333EB74DDDBD55E9633E8EE6E3BC0B2599BE6D31293EF84046BF721C44BDB70A593EAB8486BD13ACADBE1F01F7BC6B363C3ED46FAF3EA21AB03D665A25BFEB79E0BE76FE223D6AB8D03C49DAC63BC3152DBC013428BE864A113DC50749BFDEAD49BE3647B43E50CA9D3EC546BCBD6F34E33EC79F5CBE2FD6053E7BDB263FF5D7A73E688030BDBC6B3ABFA0EC0F3F9DE9213E4CF22FBEFF2C30BF053D2DBE027390BD2FDEE93DBC5E60BD22F22D3D759CDA3DAA5136BF934355BFD9BF993DFA0AEEBCC8A90FBDF2F9493ED8A512BEA8A9D53DDF1C933EAE1B49BFF39256BEC7AE9DBE59CE8BBE0114723D1D94B13EC4E809BFF880C4BDF1A7EC3E1C31003E0EFC423E9076BABEB0701E3E355FD13EA377ED3DA7DB90BE39A9CDBE24AF96BD32E2E03D6215EF3E352A033F997AE6BE63E94EBC44C1BEBDE6EBB1BE3B7809BD2B80F63AECD6903C86468D3E8C967DBCB2F495BE901108BF95CD813ED9E7D3BC60862F3D44EC86BED1BC21BE4B57863E654551BD722DC13E79769BBED3209CBE1D1881BDF1BE263F3B303DBEC3BF853E5B18BA3EC9120FBDDD92753E0F736ABE6E4E233E7AB5AC3E9A5A863E5E751B3DC3F75E3EA6BF1ABFA27FE83EE7CF5A3D5B8D87BD67B709BF883E033F3D440F3E5C4B5E3E68671DBEFDE6D33DF3FA743E7A6B393DA7CABFBD5FEA1D3E8704483EDED301BFC88A393FAA63873B962D3ABE54B535BE3FE919BE5B3E5CBD599A643BA32513BE54D89FBD"> : tensor<8x32xf32>
    %cst_1 = stablehlo.constant dense<[0.283279747, -0.206285506, -0.442282021, -0.00448451051, 0.577976704, 0.492660642, -0.185412064, -0.0811381414, 0.0967849493, -0.197877809, -0.0724642202, -0.0815529823, -0.313951433, -0.184495792, -0.144446731, 0.0715089664, -0.353936017, 0.0325693376, -0.293681473, -0.241756335, -0.336307883, 1.20450306, 0.377996415, 0.404487282, 0.244856477, -0.0696473345, 0.0212056544, 0.0876815244, 0.135132462, 0.179340065, 0.458901674, -0.887156367]> : tensor<32xf32>
    %cst_2 = stablehlo.constant dense<[0.922906577, 1.06309402, 1.40132129, 0.6511271, 0.684312283, 0.517913461, 0.855565965, 0.629028201]> : tensor<8xf32>
    %cst_3 = stablehlo.constant dense<[1.07332778, 0.832977652, 0.589898705, 1.22724855, 1.25655591, 1.40858579, 0.854965507, 1.04401815]> : tensor<8xf32>
    %0 = stablehlo.broadcast_in_dim %cst_3, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %cst_4 = stablehlo.constant dense<[0.0218537338, 0.0032894644, -0.233107269, 0.495089501, 0.44374162, 0.0927865728, -0.0343891643, 0.0762429088]> : tensor<8xf32>
    %1 = stablehlo.broadcast_in_dim %cst_4, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %cst_5 = stablehlo.constant dense<[[0.50936389, 0.15050213, -0.135803297], [0.843551993, 0.400781661, -0.0785592421], [0.00397024676, -0.257900208, -0.405795306], [-0.12773709, -0.486038238, -0.0483998917], [-0.543475151, 0.0451427884, 0.240660816], [0.839789152, 0.123819254, -9.646230e-03], [-0.331098616, 0.345409632, -0.431442857], [0.262283742, -0.505452633, 0.104638658]]> : tensor<8x3xf32>
    %cst_6 = stablehlo.constant dense<[0.2583884, 0.161691979, 0.237751558]> : tensor<3xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<5x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %4:8 = stablehlo.while(%iterArg = %arg0, %iterArg_16 = %cst, %iterArg_17 = %cst_0, %iterArg_18 = %cst_1, %iterArg_19 = %c, %iterArg_20 = %2, %iterArg_21 = %2, %iterArg_22 = %3) : tensor<5x2x6xf32>, tensor<6x32xf32>, tensor<8x32xf32>, tensor<32xf32>, tensor<i64>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<5x2x8xf32>
    cond {
      %c_23 = stablehlo.constant dense<5> : tensor<i64>
      %46 = stablehlo.compare LT, %iterArg_19, %c_23, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %46 : tensor<i1>
    } do {
      %46 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_19) : (tensor<5x2x6xf32>, tensor<i64>) -> tensor<2x6xf32>
      %47:3 = func.call @closed_call(%iterArg_16, %iterArg_17, %iterArg_18, %iterArg_20, %iterArg_21, %46) : (tensor<6x32xf32>, tensor<8x32xf32>, tensor<32xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x6xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
      %48 = func.call @dynamic_update_index_in_dim(%iterArg_22, %47#2, %iterArg_19) : (tensor<5x2x8xf32>, tensor<2x8xf32>, tensor<i64>) -> tensor<5x2x8xf32>
      %c_23 = stablehlo.constant dense<1> : tensor<i64>
      %49 = stablehlo.add %iterArg_19, %c_23 : tensor<i64>
      stablehlo.return %iterArg, %iterArg_16, %iterArg_17, %iterArg_18, %49, %47#0, %47#1, %48 : tensor<5x2x6xf32>, tensor<6x32xf32>, tensor<8x32xf32>, tensor<32xf32>, tensor<i64>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<5x2x8xf32>
    }
    %5 = stablehlo.multiply %4#7, %4#7 : tensor<5x2x8xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<5x2x8xf32>, tensor<f32>) -> tensor<5x2xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<5x2xf32>) -> tensor<5x2x1xf32>
    %cst_10 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<5x2x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<5x2x1xf32>
    %cst_11 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<5x2x1xf32>
    %11 = stablehlo.add %9, %10 : tensor<5x2x1xf32>
    %12 = stablehlo.rsqrt %11 : tensor<5x2x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<5x2x1xf32>) -> tensor<5x2x8xf32>
    %14 = stablehlo.multiply %4#7, %13 : tensor<5x2x8xf32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<5x2x8xf32>
    %17 = stablehlo.multiply %14, %16 : tensor<5x2x8xf32>
    %18 = call @silu(%17) : (tensor<5x2x8xf32>) -> tensor<5x2x8xf32>
    %19 = stablehlo.transpose %18, dims = [1, 2, 0] : (tensor<5x2x8xf32>) -> tensor<2x8x5xf32>
    %20 = stablehlo.reshape %19 : (tensor<2x8x5xf32>) -> tensor<2x4x2x5xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_12) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x4x2x5xf32>, tensor<f32>) -> tensor<2x4xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1x1xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x4x1x1xf32>
    %24 = stablehlo.divide %22, %23 : tensor<2x4x1x1xf32>
    %c_14 = stablehlo.constant dense<0> : tensor<i64>
    %25 = call @_var(%20, %c_14) : (tensor<2x4x2x5xf32>, tensor<i64>) -> tensor<2x4x1x1xf32>
    %26 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x4x1x1xf32>) -> tensor<2x4x2x5xf32>
    %27 = stablehlo.subtract %20, %26 : tensor<2x4x2x5xf32>
    %cst_15 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x1x1xf32>
    %29 = stablehlo.add %25, %28 : tensor<2x4x1x1xf32>
    %30 = stablehlo.rsqrt %29 : tensor<2x4x1x1xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<2x4x1x1xf32>) -> tensor<2x4x2x5xf32>
    %32 = stablehlo.multiply %27, %31 : tensor<2x4x2x5xf32>
    %33 = stablehlo.reshape %32 : (tensor<2x4x2x5xf32>) -> tensor<2x8x5xf32>
    %34 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<8x1xf32>) -> tensor<1x8x1xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<2x8x5xf32>
    %36 = stablehlo.multiply %33, %35 : tensor<2x8x5xf32>
    %37 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<8x1xf32>) -> tensor<1x8x1xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<2x8x5xf32>
    %39 = stablehlo.add %36, %38 : tensor<2x8x5xf32>
    %40 = stablehlo.transpose %39, dims = [0, 2, 1] : (tensor<2x8x5xf32>) -> tensor<2x5x8xf32>
    %41 = stablehlo.dot_general %40, %cst_5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x5x8xf32>, tensor<8x3xf32>) -> tensor<2x5x3xf32>
    %42 = stablehlo.broadcast_in_dim %cst_6, dims = [2] : (tensor<3xf32>) -> tensor<1x1x3xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<1x1x3xf32>) -> tensor<2x5x3xf32>
    %44 = stablehlo.add %41, %43 : tensor<2x5x3xf32>
    %45 = call @log_softmax(%44) : (tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
    return %45 : tensor<2x5x3xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5x2x6xf32>, %arg1: tensor<i64>) -> tensor<2x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 6] : (tensor<5x2x6xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
  func.func private @closed_call(%arg0: tensor<6x32xf32>, %arg1: tensor<8x32xf32>, %arg2: tensor<32xf32>, %arg3: tensor<2x8xf32>, %arg4: tensor<2x8xf32>, %arg5: tensor<2x6xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
    %0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6xf32>, tensor<6x32xf32>) -> tensor<2x32xf32>
    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x32xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<2x32xf32>
    %5 = stablehlo.add %2, %4 : tensor<2x32xf32>
    %6 = stablehlo.slice %5 [0:2, 0:8] : (tensor<2x32xf32>) -> tensor<2x8xf32>
    %7 = stablehlo.slice %5 [0:2, 8:16] : (tensor<2x32xf32>) -> tensor<2x8xf32>
    %8 = stablehlo.slice %5 [0:2, 16:24] : (tensor<2x32xf32>) -> tensor<2x8xf32>
    %9 = stablehlo.slice %5 [0:2, 24:32] : (tensor<2x32xf32>) -> tensor<2x8xf32>
    %10 = stablehlo.negate %7 : tensor<2x8xf32>
    %11 = stablehlo.exponential %10 : tensor<2x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %13 = stablehlo.add %12, %11 : tensor<2x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %15 = stablehlo.divide %14, %13 : tensor<2x8xf32>
    %16 = stablehlo.multiply %15, %arg4 : tensor<2x8xf32>
    %17 = stablehlo.negate %6 : tensor<2x8xf32>
    %18 = stablehlo.exponential %17 : tensor<2x8xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %20 = stablehlo.add %19, %18 : tensor<2x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %22 = stablehlo.divide %21, %20 : tensor<2x8xf32>
    %23 = stablehlo.tanh %8 : tensor<2x8xf32>
    %24 = stablehlo.multiply %22, %23 : tensor<2x8xf32>
    %25 = stablehlo.add %16, %24 : tensor<2x8xf32>
    %26 = stablehlo.negate %9 : tensor<2x8xf32>
    %27 = stablehlo.exponential %26 : tensor<2x8xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %29 = stablehlo.add %28, %27 : tensor<2x8xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %31 = stablehlo.divide %30, %29 : tensor<2x8xf32>
    %32 = stablehlo.tanh %25 : tensor<2x8xf32>
    %33 = stablehlo.multiply %31, %32 : tensor<2x8xf32>
    return %33, %25, %33 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<5x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i64>) -> tensor<5x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<5x2x8xf32>, tensor<1x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5x2x8xf32>
    return %1 : tensor<5x2x8xf32>
  }
  func.func private @silu(%arg0: tensor<5x2x8xf32>) -> tensor<5x2x8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<5x2x8xf32>
    %1 = stablehlo.exponential %0 : tensor<5x2x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x2x8xf32>
    %3 = stablehlo.add %2, %1 : tensor<5x2x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x2x8xf32>
    %5 = stablehlo.divide %4, %3 : tensor<5x2x8xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<5x2x8xf32>
    return %6 : tensor<5x2x8xf32>
  }
  func.func private @_var(%arg0: tensor<2x4x2x5xf32>, %arg1: tensor<i64>) -> tensor<2x4x1x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x4x2x5xf32>, tensor<f32>) -> tensor<2x4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<2x4x1x1xf32>) -> tensor<2x4x2x5xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x4x2x5xf32>
    %6 = chlo.square %5 : tensor<2x4x2x5xf32> -> tensor<2x4x2x5xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x4x2x5xf32>, tensor<f32>) -> tensor<2x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x4x1x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x4x1x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x4x1x1xf32>, tensor<f64>) -> tensor<2x4x1x1xf32>
    return %14 : tensor<2x4x1x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x4x1x1xf32>, %arg2: tensor<f64>) -> tensor<2x4x1x1xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<f64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x1x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x4x1x1xf32>
    return %2 : tensor<2x4x1x1xf32>
  }
  func.func private @log_softmax(%arg0: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x5x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x5xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<2x5xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x5x1xf32>) -> tensor<2x5x3xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x5x3xf32>
    %6 = stablehlo.exponential %5 : tensor<2x5x3xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x5x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
    %9 = stablehlo.log %8 : tensor<2x5x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x5x1xf32>) -> tensor<2x5x3xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x5x3xf32>
    return %11 : tensor<2x5x3xf32>
  }
}
