// One operation of each kind; the results are those of IREE 3.13.
func.func @main(%a0: tensor<1x4x4x3xf32>, %a1: tensor<1x4x4x3xf32>, %a2: tensor<1x4x4x3xf32>, %a3: tensor<2x3x3x3xf32>, %a4: tensor<2xf32>, %a5: tensor<1x4x4x3xf32>, %a6: tensor<3x2x3x2xf32>, %a7: tensor<6xf32>, %a8: tensor<2x5x3xf32>, %a9: tensor<2x4xi32>, %a10: tensor<6xf32>, %a11: tensor<1x4x4x3xf32>, %a12: tensor<6xi32>, %a13: tensor<6xi32>, %a14: tensor<6xi32>, %a15: tensor<6xi32>, %a16: tensor<256xi8>, %a17: tensor<256xi8>, %a18: tensor<1x4x4x3xf32>, %a19: tensor<1x4x4x3xf32>, %a20: tensor<6xi8>, %a21: tensor<256xi8>, %a22: tensor<2x5x3xf32>, %a23: tensor<2x4xi32>, %a24: tensor<2x4x3xf32>, %a25: tensor<2x4x3xi8>, %a26: tensor<2x3x5xi8>, %a27: tensor<1x4x4x3xi8>) -> (tensor<1x7x5x3xf32>, tensor<1x4x4x3xf32>, tensor<1x8x10x2xf32>, tensor<1x2x4x6xf32>, tensor<2x4x3xf32>, tensor<6xi32>, tensor<1x4x3xi32>, tensor<6xi32>, tensor<6xi32>, tensor<256xi8>, tensor<256xi8>, tensor<1x8x8x3xf32>, tensor<1x8x8x3xf32>, tensor<6xi8>, tensor<2x5x3xf32>, tensor<2x4x5xi32>, tensor<1x2x2x3xi8>) {
  %s_0 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %p_0= "tosa.const_shape"() <{values = dense<[0,0,1,2,0,1,0,0]> : tensor<8xindex>}> : () -> !tosa.shape<8>
  %c_0 = "tosa.const"() <{values = dense<1.5> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r_0 = "tosa.pad"(%a0,%p_0,%c_0) : (tensor<1x4x4x3xf32>, !tosa.shape<8>, tensor<1xf32>) -> tensor<1x7x5x3xf32>
  %z_1 = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r_1 = "tosa.avg_pool2d"(%a1,%z_1,%z_1) <{kernel=array<i64:3,3>, stride=array<i64:1,1>, pad=array<i64:1,1,1,1>, acc_type=f32}> : (tensor<1x4x4x3xf32>,tensor<1xf32>,tensor<1xf32>) -> tensor<1x4x4x3xf32>
  %z_2 = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r_2 = "tosa.transpose_conv2d"(%a2,%a3,%a4,%z_2,%z_2) <{out_pad=array<i64:0,-1,0,1>, stride=array<i64:2,2>, acc_type=f32}> : (tensor<1x4x4x3xf32>,tensor<2x3x3x3xf32>,tensor<2xf32>,tensor<1xf32>,tensor<1xf32>) -> tensor<1x8x10x2xf32>
  %z_3 = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r_3 = "tosa.depthwise_conv2d"(%a5,%a6,%a7,%z_3,%z_3) <{pad=array<i64:1,0,0,1>, stride=array<i64:2,1>, dilation=array<i64:1,1>, acc_type=f32}> : (tensor<1x4x4x3xf32>,tensor<3x2x3x2xf32>,tensor<6xf32>,tensor<1xf32>,tensor<1xf32>) -> tensor<1x2x4x6xf32>
  %r_4 = "tosa.gather"(%a8,%a9) : (tensor<2x5x3xf32>,tensor<2x4xi32>) -> tensor<2x4x3xf32>
  %r_5 = "tosa.cast"(%a10) : (tensor<6xf32>) -> tensor<6xi32>
  %r_6 = "tosa.argmax"(%a11) <{axis=2:i32}> : (tensor<1x4x4x3xf32>) -> tensor<1x4x3xi32>
  %r_7 = "tosa.arithmetic_right_shift"(%a12,%a13) <{round=true}> : (tensor<6xi32>,tensor<6xi32>) -> tensor<6xi32>
  %r_8 = "tosa.logical_right_shift"(%a14,%a15) : (tensor<6xi32>,tensor<6xi32>) -> tensor<6xi32>
  %z_9 = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %y_9 = "tosa.const"() <{values = dense<-4> : tensor<1xi8>}> : () -> tensor<1xi8>
  %m_9 = "tosa.const"() <{values = dense<1300000000> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s_9 = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r_9 = "tosa.rescale"(%a16,%m_9,%s_9,%z_9,%y_9) <{scale32=true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel=false, input_unsigned=false, output_unsigned=false}> : (tensor<256xi8>,tensor<1xi32>,tensor<1xi8>,tensor<1xi8>,tensor<1xi8>) -> tensor<256xi8>
  %z_10 = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %y_10 = "tosa.const"() <{values = dense<-4> : tensor<1xi8>}> : () -> tensor<1xi8>
  %m_10 = "tosa.const"() <{values = dense<1300000000> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s_10 = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r_10 = "tosa.rescale"(%a17,%m_10,%s_10,%z_10,%y_10) <{scale32=true, rounding_mode = #tosa.rounding_mode<DOUBLE_ROUND>, per_channel=false, input_unsigned=false, output_unsigned=false}> : (tensor<256xi8>,tensor<1xi32>,tensor<1xi8>,tensor<1xi8>,tensor<1xi8>) -> tensor<256xi8>
  %sc_11= "tosa.const_shape"() <{values = dense<[4,2,4,2]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  %of_11= "tosa.const_shape"() <{values = dense<[-1,-1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %bo_11= "tosa.const_shape"() <{values = dense<[1,1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %r_11 = "tosa.resize"(%a18,%sc_11,%of_11,%bo_11) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x4x4x3xf32>,!tosa.shape<4>,!tosa.shape<2>,!tosa.shape<2>) -> tensor<1x8x8x3xf32>
  %sc_12= "tosa.const_shape"() <{values = dense<[4,2,4,2]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  %of_12= "tosa.const_shape"() <{values = dense<[-1,-1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %bo_12= "tosa.const_shape"() <{values = dense<[1,1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %r_12 = "tosa.resize"(%a19,%sc_12,%of_12,%bo_12) <{mode = #tosa.resize_mode<NEAREST_NEIGHBOR>}> : (tensor<1x4x4x3xf32>,!tosa.shape<4>,!tosa.shape<2>,!tosa.shape<2>) -> tensor<1x8x8x3xf32>
  %r_13 = "tosa.table"(%a20,%a21) : (tensor<6xi8>,tensor<256xi8>) -> tensor<6xi8>
  %r_14 = "tosa.scatter"(%a22,%a23,%a24) : (tensor<2x5x3xf32>,tensor<2x4xi32>,tensor<2x4x3xf32>) -> tensor<2x5x3xf32>
  %x_15 = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r_15 = "tosa.matmul"(%a25,%a26,%x_15,%x_15) : (tensor<2x4x3xi8>,tensor<2x3x5xi8>,tensor<1xi8>,tensor<1xi8>) -> tensor<2x4x5xi32>
  %r_17 = "tosa.max_pool2d"(%a27) <{kernel=array<i64:2,2>, stride=array<i64:2,2>, pad=array<i64:0,0,0,0>}> : (tensor<1x4x4x3xi8>) -> tensor<1x2x2x3xi8>
  return %r_0, %r_1, %r_2, %r_3, %r_4, %r_5, %r_6, %r_7, %r_8, %r_9, %r_10, %r_11, %r_12, %r_13, %r_14, %r_15, %r_17 : tensor<1x7x5x3xf32>, tensor<1x4x4x3xf32>, tensor<1x8x10x2xf32>, tensor<1x2x4x6xf32>, tensor<2x4x3xf32>, tensor<6xi32>, tensor<1x4x3xi32>, tensor<6xi32>, tensor<6xi32>, tensor<256xi8>, tensor<256xi8>, tensor<1x8x8x3xf32>, tensor<1x8x8x3xf32>, tensor<6xi8>, tensor<2x5x3xf32>, tensor<2x4x5xi32>, tensor<1x2x2x3xi8>
}
