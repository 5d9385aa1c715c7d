// RUN: glow-opt --lower-quantized %s | filecheck %s

// NaN is the smallest number; bytes are clamped before they are rounded. What nothing else reads
// is no byte, but an integer: a number that is rounded may be -0.
// CHECK-LABEL: func.func @casts(
// CHECK-NEXT: %[[L:.*]] = glow.splat 0xff800000 : tensor<f32>
// CHECK-NEXT: %[[N:.*]] = glow.is_nan %x : tensor<4xi1>
// CHECK-NEXT: %[[V:.*]] = glow.select %[[N]], %[[L]], %x : tensor<4xf32>
// CHECK-NEXT: %[[S:.*]] = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %[[D:.*]] = glow.div %[[V]], %[[S]] : tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = glow.clip %[[D]] low -3.000000e+00 high 2.520000e+02 : tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = glow.round %[[C]] : tensor<4xf32>
// CHECK-NEXT: %[[W:.*]] = glow.convert %[[R]] : tensor<4xi32>
// CHECK-NEXT: %[[Q:.*]] = glow.convert %[[W]] : tensor<4xf32>
// CHECK-NEXT: %[[T:.*]] = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %[[Y:.*]] = glow.mul %[[Q]], %[[T]] : tensor<4xf32>
// CHECK-NEXT: func.return %[[Y]] : tensor<4xf32>
func.func @casts(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5:3>>
  %1 = quant.dcast %0 : tensor<4x!quant.uniform<u8:f32, 0.5:3>> to tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Sums of products are exact in f64; the multiplier is (0.5 * 0.25) / 0.0625.
// CHECK-LABEL: func.func @product(
// CHECK: %[[M:.*]] = glow.matmul %{{.*}}, %{{.*}} : tensor<2x2xf64>
// CHECK-NEXT: %[[B:.*]] = glow.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf64>
// CHECK-NEXT: %[[S:.*]] = glow.add %[[M]], %[[B]] : tensor<2x2xf64>
// CHECK-NEXT: %[[F:.*]] = glow.convert %[[S]] : tensor<2x2xf32>
// CHECK-NEXT: %[[U:.*]] = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: %[[V:.*]] = glow.mul %[[F]], %[[U]] : tensor<2x2xf32>
// CHECK-NEXT: %[[C:.*]] = glow.clip %[[V]] low 0.000000e+00 high 2.480000e+02
// CHECK-NEXT: glow.round %[[C]]
func.func @product(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %b = glow.constant dense<[1, -2]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.125>>
  %0 = glow.fully_connected %x, %w, %b activation "relu" : tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>>
  func.return %0 : tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>>
}

// CHECK-LABEL: func.func @movement(
// CHECK: glow.max_pool2d %{{.*}} kernel [2, 2] : tensor<1x1x1x1xui8>
func.func @movement(%x: tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x1x1x1x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.max_pool2d %x kernel [2, 2] : tensor<1x1x1x1x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<1x1x1x1x!quant.uniform<u8:f32, 0.5>>
}

// A sum takes the rounded number of its last operand, which nothing else reads, not its byte.
// CHECK-LABEL: func.func @sum(
// CHECK: %[[A:.*]] = glow.round
// CHECK: %[[B:.*]] = glow.round
// CHECK: %[[M:.*]] = glow.mul %[[B]], %{{.*}} : tensor<4xf32>
// CHECK: glow.add %{{.*}}, %[[M]] : tensor<4xf32>
func.func @sum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %a = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5:3>>
  %b = quant.qcast %y : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.75:5>>
  %s = glow.add %a, %b : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %s : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// Sums with a bias need its 32 bits, whatever their depth.
// CHECK-LABEL: func.func @computed_weights(
// CHECK: %[[P:.*]] = glow.matmul {{.*}} : tensor<1x2xf64>
// CHECK: glow.add %[[P]], {{.*}} : tensor<1x2xf64>
func.func @computed_weights(%x: tensor<1x2x!quant.uniform<u8:f32, 0.5:3>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x2xf32> {
  %b = glow.constant dense<[100000001, -7]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.125>>
  %y = glow.fully_connected %x, %w, %b : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
