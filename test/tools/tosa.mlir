// RUN: glow-opt %s -t tosa | filecheck %s
// RUN: glow-opt %s -t tosa | glow-opt --convert-tosa-to-glow | filecheck %s --check-prefix=BACK

// Products are of bytes, and sums are rescaled; the last scale is halfway too often.
// CHECK: %[[W:.*]] = "tosa.const"() <{values = dense<[{{.*}}tensor<2x2x1x1xi8>
// CHECK: %[[SUMS:.*]] = "tosa.conv2d"(%{{.*}}) <{{.*}}acc_type = i32{{.*}} : ({{.*}}tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x2xi32>
// CHECK: %[[M:.*]] = "tosa.const"() <{values = dense<[{{[0-9]+}}, {{[0-9]+}}]> : tensor<2xi32>}>
// CHECK: %[[S:.*]] = "tosa.const"() <{values = dense<[{{[0-9]+}}, {{[0-9]+}}]> : tensor<2xi8>}>
// CHECK: "tosa.rescale"(%[[SUMS]], %[[M]], %[[S]], %{{.*}}, %{{.*}}) <{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = true, input_unsigned = false, output_unsigned = false}> : (tensor<1x4x4x2xi32>, {{.*}}) -> tensor<1x4x4x2xi8>
// CHECK: "tosa.clamp"(%{{.*}}) <{min_val = -5 : i8, max_val = 127 : i8}>
// CHECK-COUNT-2: "tosa.rescale"
// CHECK: "tosa.add"{{.*}}tensor<1x2x4x4xi32>
// CHECK: "tosa.rescale"
// CHECK: "tosa.rescale"{{.*}}-> tensor<1x2x4x4xi32>
// CHECK-NOT: tosa.rescale
// CHECK: "tosa.cast"{{.*}}tensor<1x2x4x4xf32>

// BACK: glow.conv2d
// BACK: glow.relu
// BACK: glow.add
// BACK: quant.dcast
// BACK: quant.qcast
func.func @main(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8> {
  %0 = quant.scast %x : tensor<1x2x4x4xi8> to tensor<1x2x4x4x!quant.uniform<i8:f32, 0.013:3>>
  %w = glow.constant dense<[[[[3]], [[-7]]], [[[5]], [[11]]]]> : tensor<2x2x1x1xi8> as tensor<2x2x1x1x!quant.uniform<i8:f32:0, {0.017, 0.023}>>
  %1 = glow.conv2d %0, %w : tensor<1x2x4x4x!quant.uniform<i8:f32, 0.0190713:-5>>
  %2 = glow.relu %1 : tensor<1x2x4x4x!quant.uniform<i8:f32, 0.0190713:-5>>
  %3 = glow.add %2, %0 : tensor<1x2x4x4x!quant.uniform<i8:f32, 0.0341291:9>>
  %4 = glow.rescale %3 : tensor<1x2x4x4x!quant.uniform<i8:f32, 0.0682582:0>>
  %5 = quant.scast %4 : tensor<1x2x4x4x!quant.uniform<i8:f32, 0.0682582:0>> to tensor<1x2x4x4xi8>
  func.return %5 : tensor<1x2x4x4xi8>
}
