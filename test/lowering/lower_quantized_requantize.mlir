// RUN: glow-opt --lower-quantized='backend=cpu' %s | filecheck %s

// What makes bytes of numbers is one node.
// CHECK-LABEL: func.func @rescale(
// CHECK: %[[F:.*]] = glow.convert %{{.*}} : tensor<4xf32>
// CHECK: %[[C:.*]] = glow.sub %[[F]], %{{.*}} : tensor<4xf32>
// CHECK: %[[H:.*]] = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: cpu.requantize %[[C]], %[[H]] low -7.000000e+00 high 2.480000e+02 zero_point 7 : tensor<4xui8>
func.func @rescale(%x: tensor<4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<4x!quant.uniform<u8:f32, 1.0:7>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 1.0:7>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 1.0:7>>
}

// A multiplier of one is left out, and a NaN that is cast is the lowest number.
// CHECK-LABEL: func.func @cast(
// CHECK: %[[S:.*]] = glow.select
// CHECK: %[[D:.*]] = glow.div %[[S]], %{{.*}} : tensor<4xf32>
// CHECK-NEXT: cpu.requantize %[[D]] low 0.000000e+00 high 2.550000e+02 : tensor<4xui8>
func.func @cast(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// A sum that is the only reader takes the rounded numbers before they are stored.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[L:.*]] = glow.clip %{{.*}} low -3.000000e+00 high 2.520000e+02 : tensor<2x2xf32>
// CHECK-NEXT: %[[R:.*]] = glow.round %[[L]] : tensor<2x2xf32>
// CHECK-NOT: cpu.requantize
// CHECK: %[[T:.*]] = glow.add
// CHECK-NEXT: cpu.requantize %[[T]] low -3.000000e+00 high 2.520000e+02 zero_point 3 : tensor<2x2xui8>
// CHECK-NOT: cpu.requantize
func.func @residual(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.5:3>> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %b = glow.constant dense<[1, -2]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.125>>
  %0 = glow.fully_connected %x, %w, %b : tensor<2x2x!quant.uniform<u8:f32, 1.0:3>>
  %1 = glow.add %x, %0 : tensor<2x2x!quant.uniform<u8:f32, 0.5:3>>
  func.return %1 : tensor<2x2x!quant.uniform<u8:f32, 0.5:3>>
}

// Known parameters of a normalization that are finite make no NaN of bytes.
// CHECK-LABEL: func.func @affine(
// CHECK-NOT: glow.is_nan
// CHECK: %[[S:.*]] = glow.scast %x
// CHECK-NEXT: cpu.requantize %[[S]], %{{.*}}, %{{.*}} low 0.000000e+00 high 2.550000e+02 input_zero_point 3 : tensor<1x2x1x1xui8>
func.func @affine(%x: tensor<1x2x1x1x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x2x1x1x!quant.uniform<u8:f32, 0.25>> {
  %m = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %a = glow.constant dense<[[[0.5]], [[-1.0]]]> : tensor<2x1x1xf32>
  %0 = glow.rescale %x, %m, %a : tensor<1x2x1x1x!quant.uniform<u8:f32, 0.25>>
  func.return %0 : tensor<1x2x1x1x!quant.uniform<u8:f32, 0.25>>
}

// The sum behind it reads the numbers that were rounded.
// CHECK-LABEL: func.func @affine_read_once(
// CHECK: %[[X:.*]] = glow.sub %{{.*}}, %{{.*}} : tensor<1x2x1x1xf32>
// CHECK: %[[M:.*]] = glow.mul %[[X]]
// CHECK: %[[A:.*]] = glow.add %[[M]]
// CHECK: %[[C:.*]] = glow.clip %[[A]] low -3.000000e+00 high 2.520000e+02
// CHECK: glow.round %[[C]]
func.func @affine_read_once(%x: tensor<1x2x1x1x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x2x1x1x!quant.uniform<u8:f32, 0.5:3>> {
  %m = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %a = glow.constant dense<[[[0.5]], [[-1.0]]]> : tensor<2x1x1xf32>
  %0 = glow.rescale %x, %m, %a : tensor<1x2x1x1x!quant.uniform<u8:f32, 0.25:3>>
  %1 = glow.add %x, %0 : tensor<1x2x1x1x!quant.uniform<u8:f32, 0.5:3>>
  func.return %1 : tensor<1x2x1x1x!quant.uniform<u8:f32, 0.5:3>>
}

// CHECK-LABEL: func.func @infinite(
// CHECK: glow.is_nan
func.func @infinite(%x: tensor<2x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<2x!quant.uniform<u8:f32, 0.25>> {
  %m = glow.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %a = glow.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %0 = glow.rescale %x, %m, %a : tensor<2x!quant.uniform<u8:f32, 0.25>>
  func.return %0 : tensor<2x!quant.uniform<u8:f32, 0.25>>
}

// Wider integers are not bytes.
// CHECK-LABEL: func.func @words(
// CHECK-NOT: cpu.requantize
// CHECK: func.return
func.func @words(%x: tensor<4x!quant.uniform<i16:f32, 0.5>>) -> tensor<4x!quant.uniform<i16:f32, 1.0>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<i16:f32, 1.0>>
  func.return %0 : tensor<4x!quant.uniform<i16:f32, 1.0>>
}
