// RUN: glow-opt --convert-tosa-to-glow --split-input-file %s | filecheck %s

// Both spellings; a bias of zeros is left out, from 0 to the largest float is ReLU.
// CHECK-LABEL: func.func @layer(
func.func @layer(%x: tensor<1x4x4x3xf32>, %w: tensor<8x3x3x3xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x2x2x8xf32>) {
  %b = "tosa.const"() <{values = dense<0.0> : tensor<8xf32>}> : () -> tensor<8xf32>
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x4x4x3xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x8xf32>
  %1 = tosa.clamp %0 {max_val = 3.40282347E+38 : f32, min_val = 0.000000e+00 : f32} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %2 = tosa.max_pool2d %1 kernel([2, 2]) stride([2, 2]) pad([0, 0, 0, 0]) nan_mode<PROPAGATE> : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  // CHECK: glow.conv2d %{{.*}}, %{{.*}} pads [1, 1, 1, 1]
  // CHECK: glow.relu
  // CHECK: glow.max_pool2d %{{.*}} kernel [2, 2] strides [2, 2]
  return %1, %2 : tensor<1x4x4x8xf32>, tensor<1x2x2x8xf32>
}

// -----

// A sum times one over the number of its terms is a mean; shapes are read.
// CHECK-LABEL: func.func @mean(
// CHECK: glow.reduce_mean %x axes [1, 2] keepdims : tensor<2x1x1xf32>
// CHECK-NOT: tosa
func.func @mean(%x: tensor<2x4x4xf32>) -> tensor<2x1xf32> {
  %k = "tosa.const"() <{values = dense<0.0625> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
  %s = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %d = tosa.const_shape {values = dense<[2, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x4xf32>) -> tensor<2x1x4xf32>
  %1 = tosa.reduce_sum %0 {axis = 2 : i32} : (tensor<2x1x4xf32>) -> tensor<2x1x1xf32>
  %2 = tosa.mul %1, %k, %s : (tensor<2x1x1xf32>, tensor<1x1x1xf32>, tensor<1xi8>) -> tensor<2x1x1xf32>
  %3 = tosa.reshape %2, %d : (tensor<2x1x1xf32>, !tosa.shape<2>) -> tensor<2x1xf32>
  return %3 : tensor<2x1xf32>
}

// -----

// A product and its `rescale` are one product of quantized elements; the weights have the ratios.
// CHECK-LABEL: func.func @quantized(
// CHECK: quant.scast %x : tensor<1x3x3x1xi8> to tensor<1x3x3x1x!quant.uniform<i8:f32, 1.000000e+00:-3>>
// CHECK: glow.conv2d
// CHECK-SAME: !quant.uniform<i8:f32, 1.000000e+00:5>
func.func @quantized(%x: tensor<1x3x3x1xi8>) -> tensor<1x3x3x2xi8> {
  %w = "tosa.const"() <{values = dense<[[[[3]]], [[[5]]]]> : tensor<2x1x1x1xi8>}> : () -> tensor<2x1x1x1xi8>
  %b = "tosa.const"() <{values = dense<[17, 4]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %xz = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %yz = "tosa.const"() <{values = dense<5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %m = "tosa.const"() <{values = dense<[1100000000, 1500000000]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %s = "tosa.const"() <{values = dense<[32, 33]> : tensor<2xi8>}> : () -> tensor<2xi8>
  %0 = tosa.conv2d %x, %w, %b, %xz, %wz {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x3x3x1xi8>, tensor<2x1x1x1xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x3x3x2xi32>
  %1 = tosa.rescale %0, %m, %s, %zero, %yz {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false} : (tensor<1x3x3x2xi32>, tensor<2xi32>, tensor<2xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x3x3x2xi8>
  return %1 : tensor<1x3x3x2xi8>
}

// -----

// Other rescales are exact, in integers of 64 bits.
// CHECK-LABEL: func.func @exactly(
// CHECK: glow.convert %x
// CHECK: glow.mul
// CHECK: glow.shift_right
// CHECK: glow.convert %{{.*}}tensor<4xi32>
func.func @exactly(%x: tensor<4xi8>) -> tensor<4xi32> {
  %m = "tosa.const"() <{values = dense<1100000000> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<20> : tensor<1xi8>}> : () -> tensor<1xi8>
  %xz = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.rescale %x, %m, %s, %xz, %zero rounding_mode<DOUBLE_ROUND> scale32(true) per_channel(false) input_unsigned(false) output_unsigned(false) : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// Sums of halves are single: what is multiplied is widened before.
// CHECK-LABEL: func.func @matmul_of_halves(
// CHECK: %[[X:.*]] = glow.convert %x : tensor<1x2x3xf32>
// CHECK: %[[Y:.*]] = glow.convert %y : tensor<1x3x4xf32>
// CHECK: glow.matmul %[[X]], {{.*}} : tensor<1x2x4xf32>
func.func @matmul_of_halves(%x: tensor<1x2x3xf16>, %y: tensor<1x3x4xf16>) -> tensor<1x2x4xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %0 = "tosa.matmul"(%x, %y, %zero, %zero) : (tensor<1x2x3xf16>, tensor<1x3x4xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// -----

// What is between two rescales is one node; bounds change the scale, too.
// CHECK-LABEL: func.func @between(
// CHECK: %[[A:.*]] = quant.scast %a : {{.*}}!quant.uniform<i8:f32, 0.51{{[0-9]*}}:-3>>
// CHECK: %[[B:.*]] = quant.scast %b : {{.*}}!quant.uniform<i8:f32, 0.72{{[0-9]*}}:5>>
// CHECK: %[[SUM:.*]] = glow.add %[[A]], %[[B]] : tensor<4x!quant.uniform<i8:f32, 1.000000e+00:7>>
// CHECK: %[[BYTES:.*]] = quant.scast %[[SUM]]
// CHECK: %[[C:.*]] = quant.scast %[[BYTES]] : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 0.51{{[0-9]*}}:7>>
// CHECK: %[[D:.*]] = glow.relu %[[C]] : tensor<4x!quant.uniform<i8:f32, 1.000000e+00:2>>
// CHECK: %[[RESULT:.*]] = quant.scast %[[D]]
// CHECK: func.return %[[RESULT]]
func.func @between(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %m = "tosa.const"() <{values = dense<1100000000> : tensor<1xi32>}> : () -> tensor<1xi32>
  %n = "tosa.const"() <{values = dense<1550000000> : tensor<1xi32>}> : () -> tensor<1xi32>
  %one = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<11> : tensor<1xi8>}> : () -> tensor<1xi8>
  %t = "tosa.const"() <{values = dense<50> : tensor<1xi8>}> : () -> tensor<1xi8>
  %u = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %az = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %bz = "tosa.const"() <{values = dense<5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %yz = "tosa.const"() <{values = dense<7> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.rescale %a, %m, %s, %az, %zero {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi32>) -> tensor<4xi32>
  %1 = tosa.rescale %b, %n, %s, %bz, %zero {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi32>) -> tensor<4xi32>
  %2 = tosa.add %0, %1 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = tosa.rescale %2, %one, %t, %zero, %yz {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  %4 = tosa.rescale %3, %m, %u, %yz, %wz {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  %5 = tosa.clamp %4 {min_val = 2 : i8, max_val = 127 : i8} : (tensor<4xi8>) -> tensor<4xi8>
  return %5 : tensor<4xi8>
}

// -----

// Half of a byte is halfway between two numbers too often: TOSA's integers stay.
// CHECK-LABEL: func.func @half(
// CHECK-NOT: quant
// CHECK: glow.shift_right
func.func @half(%a: tensor<4xi8>) -> tensor<4xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.rescale %a, %m, %s, %z, %z {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----

// One place of groups is a slice with steps.
// CHECK-LABEL: func.func @strided(
// CHECK: %[[PART:.*]] = glow.slice %x starts [0, 1] sizes [3, 4] steps [1, 2] : tensor<3x4xf32>
// CHECK: func.return %[[PART]]
func.func @strided(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %g = tosa.const_shape {values = dense<[3, 4, 2]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %b = tosa.const_shape {values = dense<[0, 0, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %n = tosa.const_shape {values = dense<[3, 4, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %f = tosa.const_shape {values = dense<[3, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.reshape %x, %g : (tensor<3x8xf32>, !tosa.shape<3>) -> tensor<3x4x2xf32>
  %1 = tosa.slice %0, %b, %n : (tensor<3x4x2xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<3x4x1xf32>
  %2 = tosa.reshape %1, %f : (tensor<3x4x1xf32>, !tosa.shape<2>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}
