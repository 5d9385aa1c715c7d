module @jit_network attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x2x6xf32>) -> (tensor<2x8xf32> {jax.result_info = "result[0]"}, tensor<7x2x8xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<"0x2125D5BE6F57D8BEA3A8103E0E4F453FCAE398BE4E28923EB9479A3D4A45A9BE1301AABDA01A8FBD022F54BE4745143FDB6312BFDA1BEA3D4BB0CB3DDF0E32BE89B5373DD5CC863E52AE3B3DCC33003ED0DC543ED90F1CBF3114E33E47F92E3F6EA6963EEAB29B3E864ED8BE588611BDB97579BED66234BE7089943E51F576BE54DE1FBD399412BF66AE42BDA639DD3CF58258BE34265DBE95E0103F15D1B9BEF15FA1BE2C8778BE7B23B83E0166213FBE16CC3D2F5C5CBE3E6603BE208EA33EA6F08BBE302CDF3E1F96D93E108BAC3CBA7D463E6C52663E07BAEE3EC480A1BEDB6EB53E438AE6BD2EDB6BBEE953FC3C71B183BDCEAD97BE9759F5BEAEB490BE0315DF3EB0B9163F3DB7473E7D28B63E66C51EBEA39BBDBC0CBBAD3D0916A6BE300E98BEADD2EE3C74CBC4BDC15CA3BE3F7CED3D41C2A1BD46E19C3EAEBACBBA1F82B8BD83E21C3D515553BD47394DBE3AF6F6BDB638663E259C463E8990C53E9E0502BFD183F1BD10B7FEBDF612533D18E70ABE5BA61DBEA787703E7DD55A3D4D27B3BEECFACC3EE319993E065230BE8D5E7F3E97D761BE43E8AC3EE4D585BD18A276BE3F3CE5BD5A436BBEE9196C3D582B573D8EFA2F3C05FE2ABEE6958CBF1E27E43C7CA111BF8207963D9EB0AD3E7C46A83D1445EFBD9A085DBDE28123BD1EBA28BE135733BE11E98DBE7180B63E18E598BB1FE2923EA1A199BD065CB13CBF5D51BDE92E0E3E46F17D3E4746933D0FFF4EBE119A6FBE3DD9FE3E1E0EACBD69DAB2BD6F06E13E7118A73EB9FE233EA563F5BDBFB9343F6F71F13DB008283E"> : tensor<6x24xf32>
    %cst_0 = stablehlo.constant dense<"0x564152BDD53CD9BEFB04CDBE220CFA3D71BDF03D797493BD7BF8B3BE4B70DDBE736EC9BD48A9DFBECA128A3EA00CB13E1345593FD9E8863E971F36BE43E385BEDE8B84BFFCBF36BE2B7759BDBBA7943E31E23B3EB5BD343EB740833D14084B3EF359DE3EAA90A3BE917B0CBE4847D5BE50A0F83EF832C73E091A673EF618B8BEBB83543D952990BDFBA3C63CD92867BDC1BA1F3EF196F2BD1443833E2150943DE510B4BD077209BD345907BE72067A3EACC9A6BD402EB53DE817F1BD951CE4BE7A2D8B3E3A87A2BE64A3503E2912013EE25DFEBE641A91BE85EE1DBEE51F7CBEEA90B5BE7E5B633EF12693BDE2F7EC3D904004BE0898BB3DE9C066BED35502BC37BE323EBA8A5D3C9D6C0CBE77E9A6BEC5FC4D3D3DEFD33D6EBC9EBDD0556CBE77AE263ECE983E3F28D5B9BD89E4CE3DC9DEE73DC11A45BFBA33183DE40A59BE26B0D43E840C9CBDE7DB6EBEF93E86BD94AB4C3DC4002CBE8E6C81BCBBFFCFBE4E658ABD66496E3E813B173F970A593E7F13A73D91D3B53EFC889C3EF590FF3EC34BA63EADD410BD4BCA9E3D42275C3D63A2B93D9127763DB45C70BE2A8F21BFF5564EBE75991BBF2C04A73CC760B23A23AF00BFBF67533E3F26853EBB90EB3CA713003F71BE0F3F9D3DB9BEE83C9F3EB06D073E0182003EF9878F3EA8ED5CBE10FA35BE24F47DBEF0E767BE391AF2BC0D00DFBEAC9FA0BEAC6A313EE165AEBC9549EB3D5F1811BFBBCC70BE37A02ABE45EA1F3C431B34BE7E578F3E2A388FBC8A41A73BEE15853B3E7E593EC3E110BE5266AC3E7B540D3ED5473D3DA8244D3C5ED61F3ED2F69B3EA83B913EB1EDE63DFCA9863E4470113DEB61C03EBCC602BCE65E1FBFAF7FCD3E0587043DAEE0B3BEC99373BDC0C187BECC4B213F89E3183E3CF4F0BE21C8273E5FFCF4BD7E35133FB7B1A1BE66922CBF4EE1A13CF8D3D5BD45F3FFBD7A7224BFA71D033E4E83003F6F9D12BF64E6B33EB7B52EBE5367343F0FF1053EBBD266BD61C9A93E9098213EA20036BEBC2D5A3EC2E21CBE1B5B09BFBA061C3FABC8D6BDCF163BBE601CD03D388FEFBEE1E8CFBED17D19BE96A81FBE"> : tensor<8x24xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<7x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2:6 = stablehlo.while(%iterArg = %arg0, %iterArg_3 = %cst, %iterArg_4 = %cst_0, %iterArg_5 = %c, %iterArg_6 = %0, %iterArg_7 = %1) : tensor<7x2x6xf32>, tensor<6x24xf32>, tensor<8x24xf32>, tensor<i32>, tensor<2x8xf32>, tensor<7x2x8xf32>
    cond {
      %c_8 = stablehlo.constant dense<7> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg_5, %c_8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_8 = stablehlo.constant dense<7> : tensor<i32>
      %3 = stablehlo.subtract %c_8, %iterArg_5 : tensor<i32>
      %c_9 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.subtract %3, %c_9 : tensor<i32>
      %5 = func.call @dynamic_index_in_dim(%iterArg, %4) : (tensor<7x2x6xf32>, tensor<i32>) -> tensor<2x6xf32>
      %6:2 = func.call @closed_call(%iterArg_3, %iterArg_4, %iterArg_6, %5) : (tensor<6x24xf32>, tensor<8x24xf32>, tensor<2x8xf32>, tensor<2x6xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
      %7 = func.call @dynamic_update_index_in_dim(%iterArg_7, %6#1, %4) : (tensor<7x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<7x2x8xf32>
      %c_10 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg_5, %c_10 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_3, %iterArg_4, %8, %6#0, %7 : tensor<7x2x6xf32>, tensor<6x24xf32>, tensor<8x24xf32>, tensor<i32>, tensor<2x8xf32>, tensor<7x2x8xf32>
    }
    return %2#4, %2#5 : tensor<2x8xf32>, tensor<7x2x8xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<7x2x6xf32>, %arg1: tensor<i32>) -> tensor<2x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 6] : (tensor<7x2x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
  func.func private @closed_call(%arg0: tensor<6x24xf32>, %arg1: tensor<8x24xf32>, %arg2: tensor<2x8xf32>, %arg3: tensor<2x6xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
    %0 = stablehlo.slice %arg0 [0:6, 0:16] : (tensor<6x24xf32>) -> tensor<6x16xf32>
    %1 = stablehlo.dot_general %arg3, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6xf32>, tensor<6x16xf32>) -> tensor<2x16xf32>
    %2 = stablehlo.slice %arg1 [0:8, 0:16] : (tensor<8x24xf32>) -> tensor<8x16xf32>
    %3 = stablehlo.dot_general %arg2, %2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %4 = stablehlo.add %1, %3 : tensor<2x16xf32>
    %5 = stablehlo.negate %4 : tensor<2x16xf32>
    %6 = stablehlo.exponential %5 : tensor<2x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x16xf32>
    %8 = stablehlo.add %7, %6 : tensor<2x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x16xf32>
    %10 = stablehlo.divide %9, %8 : tensor<2x16xf32>
    %11 = stablehlo.slice %10 [0:2, 0:8] : (tensor<2x16xf32>) -> tensor<2x8xf32>
    %12 = stablehlo.slice %10 [0:2, 8:16] : (tensor<2x16xf32>) -> tensor<2x8xf32>
    %13 = stablehlo.slice %arg0 [0:6, 16:24] : (tensor<6x24xf32>) -> tensor<6x8xf32>
    %14 = stablehlo.dot_general %arg3, %13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6xf32>, tensor<6x8xf32>) -> tensor<2x8xf32>
    %15 = stablehlo.slice %arg1 [0:8, 16:24] : (tensor<8x24xf32>) -> tensor<8x8xf32>
    %16 = stablehlo.dot_general %arg2, %15, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<2x8xf32>
    %18 = stablehlo.add %14, %17 : tensor<2x8xf32>
    %19 = stablehlo.tanh %18 : tensor<2x8xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %21 = stablehlo.subtract %20, %11 : tensor<2x8xf32>
    %22 = stablehlo.multiply %21, %19 : tensor<2x8xf32>
    %23 = stablehlo.multiply %11, %arg2 : tensor<2x8xf32>
    %24 = stablehlo.add %22, %23 : tensor<2x8xf32>
    return %24, %24 : tensor<2x8xf32>, tensor<2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<7x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> tensor<7x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<7x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<7x2x8xf32>
    return %1 : tensor<7x2x8xf32>
  }
}
