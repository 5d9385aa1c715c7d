// RUN: glow-opt --form-integer-nodes %s | filecheck %s

// CHECK-LABEL: func.func @conv2d(
// CHECK-NEXT: %[[B:.*]] = glow.constant dense<[8, -4]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32:0, {2.500000e-01, 1.250000e-01}>>
// CHECK-NEXT: %[[Y:.*]] = glow.conv2d %x, %w, %[[B]] activation "relu" : tensor<1x2x4x4x!quant.uniform<i8:f32, 1.000000e+00>>
// CHECK-NEXT: func.return %[[Y]]
func.func @conv2d(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:128>>, %w: tensor<2x2x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> {
  %b = glow.constant dense<[2.0, -0.5]> : tensor<2xf32>
  %0 = quant.dcast %x : tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:128>> to tensor<1x2x4x4xf32>
  %1 = quant.dcast %w : tensor<2x2x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x2x1x1xf32>
  %2 = glow.conv2d %0, %1, %b activation "relu" : tensor<1x2x4x4xf32>
  %3 = quant.qcast %2 : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>>
  func.return %3 : tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>>
}

// Nothing casts the result: floats come from the accumulators.
// CHECK-LABEL: func.func @float_result(
// CHECK-NEXT: %[[Y:.*]] = glow.matmul %x, %w : tensor<2x3xf32>
// CHECK-NEXT: func.return %[[Y]] : tensor<2x3xf32>
func.func @float_result(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3xf32> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %1 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
  %2 = glow.matmul %0, %1 : tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @add(
// CHECK-NEXT: %[[Y:.*]] = glow.add %x, %y : tensor<4x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @add(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>, %y: tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>
  %1 = quant.dcast %y : tensor<4x!quant.uniform<i8:f32, 1.0>> to tensor<4xf32>
  %2 = glow.add %0, %1 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 2.0>>
  func.return %3 : tensor<4x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @affine(
// CHECK-NEXT: %[[M:.*]] = glow.constant dense<[[[2.000000e+00]], [[4.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT: %[[A:.*]] = glow.constant dense<1.000000e+00> : tensor<2x1x1xf32>
// CHECK-NEXT: %{{.*}} = glow.rescale %x, %[[M]], %[[A]] : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @affine(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>> {
  %m = glow.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %a = glow.constant dense<1.0> : tensor<f32>
  %0 = quant.dcast %x : tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>> to tensor<1x2x4x4xf32>
  %1 = glow.mul %0, %m : tensor<1x2x4x4xf32>
  %2 = glow.add %1, %a : tensor<1x2x4x4xf32>
  %3 = quant.qcast %2 : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
  func.return %3 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
}

// Parameters of a batch normalization that are quantized: 6 / sqrt(9) and 1 - 4 * 2.
// CHECK-LABEL: func.func @batch_norm(
// CHECK: %[[M:.*]] = glow.constant dense<2.000000e+00> : tensor<2x1x1xf32>
// CHECK-NEXT: %[[A:.*]] = glow.constant dense<-7.000000e+00> : tensor<2x1x1xf32>
// CHECK-NEXT: glow.rescale %x, %[[M]], %[[A]] : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK-NEXT: func.return
func.func @batch_norm(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>> to tensor<1x2x4x4xf32>
  %1 = glow.constant dense<[12, 12]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 0.5>>
  %scale = quant.dcast %1 : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  %2 = glow.constant dense<[4, 4]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.25>>
  %bias = quant.dcast %2 : tensor<2x!quant.uniform<i32:f32, 0.25>> to tensor<2xf32>
  %mean = glow.constant dense<4.0> : tensor<2xf32>
  %variance = glow.constant dense<9.0> : tensor<2xf32>
  %3 = glow.batch_norm %0, %scale, %bias, %mean, %variance epsilon 0.0 : tensor<1x2x4x4xf32>
  %4 = quant.qcast %3 : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
  func.return %4 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
}

// Computed parameters stay.
// CHECK-LABEL: func.func @batch_norm_of_computed_scale(
// CHECK: glow.batch_norm
func.func @batch_norm_of_computed_scale(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>>, %scale: tensor<2xf32>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>> to tensor<1x2x4x4xf32>
  %bias = glow.constant dense<1.0> : tensor<2xf32>
  %mean = glow.constant dense<4.0> : tensor<2xf32>
  %variance = glow.constant dense<9.0> : tensor<2xf32>
  %1 = glow.batch_norm %0, %scale, %bias, %mean, %variance epsilon 0.0 : tensor<1x2x4x4xf32>
  %2 = quant.qcast %1 : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
  func.return %2 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<256xui8>
// CHECK-NEXT: %{{.*}} = glow.lookup_table %x, %[[T]] : tensor<4x!quant.uniform<u8:f32, 3.906250e-03>>
func.func @sigmoid(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.00390625>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xf32>
  %1 = glow.sigmoid %0 : tensor<4xf32>
  %2 = quant.qcast %1 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.00390625>>
  func.return %2 : tensor<4x!quant.uniform<u8:f32, 0.00390625>>
}

// CHECK-LABEL: func.func @sixteen_bits(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<65536xi8>
// CHECK-NEXT: %{{.*}} = glow.lookup_table %x, %[[T]] : tensor<4x!quant.uniform<i8:f32, 7.812500e-03>>
func.func @sixteen_bits(%x: tensor<4x!quant.uniform<i16:f32, 0.001>>) -> tensor<4x!quant.uniform<i8:f32, 0.0078125>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<i16:f32, 0.001>> to tensor<4xf32>
  %1 = glow.tanh %0 : tensor<4xf32>
  %2 = quant.qcast %1 : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.0078125>>
  func.return %2 : tensor<4x!quant.uniform<i8:f32, 0.0078125>>
}

// Where the lowest byte is zero, saturation is the relu; other bounds, and none, stay.
// CHECK-LABEL: func.func @saturated_relu(
// CHECK-NEXT: %[[Y:.*]] = glow.fully_connected %x, %w : tensor<2x3x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @saturated_relu(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %1 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
  %2 = glow.fully_connected %0, %1 activation "relu" : tensor<2x3xf32>
  %3 = quant.qcast %2 : tensor<2x3xf32> to tensor<2x3x!quant.uniform<u8:f32, 2.0>>
  func.return %3 : tensor<2x3x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @no_activation(
// CHECK-NEXT: %[[Y:.*]] = glow.fully_connected %x, %w : tensor<2x3x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @no_activation(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %1 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
  %2 = glow.fully_connected %0, %1 : tensor<2x3xf32>
  %3 = quant.qcast %2 : tensor<2x3xf32> to tensor<2x3x!quant.uniform<u8:f32, 2.0>>
  func.return %3 : tensor<2x3x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @clip(
// CHECK-NEXT: %[[Y:.*]] = glow.fully_connected %x, %w activation "clip"{{.*}} : tensor<2x3x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @clip(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<u8:f32, 2.0>> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %1 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
  %2 = glow.fully_connected %0, %1 activation "clip" activation_args [0.0, 6.0] : tensor<2x3xf32>
  %3 = quant.qcast %2 : tensor<2x3xf32> to tensor<2x3x!quant.uniform<u8:f32, 2.0>>
  func.return %3 : tensor<2x3x!quant.uniform<u8:f32, 2.0>>
}

// A bias that is computed cannot join the accumulators.
// CHECK-LABEL: func.func @computed_bias(
// CHECK: glow.fully_connected %{{.*}}, %{{.*}}, %b : tensor<2x3xf32>
func.func @computed_bias(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.5>> to tensor<2x2xf32>
  %1 = quant.dcast %w : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
  %2 = glow.fully_connected %0, %1, %b : tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// One operand is no integer; a bias that is computed cannot be stored at the sums' scale.
// CHECK-LABEL: func.func @stay_float(
// CHECK: glow.fully_connected %x, %{{.*}} : tensor<2x3xf32>
// CHECK: glow.fully_connected %{{.*}}, %{{.*}}, %b : tensor<2x3xf32>
// CHECK: func.return
func.func @stay_float(%x: tensor<2x4xf32>, %q: tensor<2x4x!quant.uniform<u8:f32, 0.5>>, %b: tensor<3xf32>) -> (tensor<2x3x!quant.uniform<u8:f32, 1.0>>, tensor<2x3x!quant.uniform<u8:f32, 1.0>>) {
  %w = glow.constant dense<1> : tensor<4x3xi8> as tensor<4x3x!quant.uniform<i8:f32, 0.5>>
  %0 = quant.dcast %w : tensor<4x3x!quant.uniform<i8:f32, 0.5>> to tensor<4x3xf32>
  %1 = glow.fully_connected %x, %0 : tensor<2x3xf32>
  %2 = quant.qcast %1 : tensor<2x3xf32> to tensor<2x3x!quant.uniform<u8:f32, 1.0>>
  %3 = quant.dcast %q : tensor<2x4x!quant.uniform<u8:f32, 0.5>> to tensor<2x4xf32>
  %4 = glow.fully_connected %3, %0, %b : tensor<2x3xf32>
  %5 = quant.qcast %4 : tensor<2x3xf32> to tensor<2x3x!quant.uniform<u8:f32, 1.0>>
  func.return %2, %5 : tensor<2x3x!quant.uniform<u8:f32, 1.0>>, tensor<2x3x!quant.uniform<u8:f32, 1.0>>
}

// Swish is two nodes, and one table.
// CHECK-LABEL: func.func @swish(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<256xui8>
// CHECK-NEXT: glow.lookup_table %x, %[[T]] : tensor<4x!quant.uniform<u8:f32, 2.500000e-01:2>>
// CHECK-NEXT: func.return
func.func @swish(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:2>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.5:8>> to tensor<4xf32>
  %1 = glow.sigmoid %0 : tensor<4xf32>
  %2 = glow.mul %1, %0 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25:2>>
  func.return %3 : tensor<4x!quant.uniform<u8:f32, 0.25:2>>
}

// A convolution over volumes has the integer form of one over planes.
// CHECK-LABEL: func.func @volume(
// CHECK-NEXT:  %[[X:.*]] = glow.reshape %x : tensor<1x2x3x20x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK-NEXT:  %[[W:.*]] = glow.constant dense<{{.*}}> : tensor<2x2x2x1xi8> as tensor<2x2x2x1x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT:  %[[Y:.*]] = glow.conv2d %[[X]], %[[W]] : tensor<1x2x2x20x!quant.uniform<i8:f32, 1.000000e+00>>
// CHECK-NEXT:  glow.reshape %[[Y]] : tensor<1x2x2x4x5x!quant.uniform<i8:f32, 1.000000e+00>>
// CHECK-NEXT:  func.return
func.func @volume(%x: tensor<1x2x3x4x5x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<1x2x2x4x5x!quant.uniform<i8:f32, 1.0>> {
  %w = glow.constant dense<[[[[[1]], [[2]]], [[[3]], [[4]]]], [[[[5]], [[6]]], [[[7]], [[8]]]]]> : tensor<2x2x2x1x1xi8> as tensor<2x2x2x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %0 = quant.dcast %x : tensor<1x2x3x4x5x!quant.uniform<u8:f32, 0.5:128>> to tensor<1x2x3x4x5xf32>
  %1 = quant.dcast %w : tensor<2x2x2x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x2x2x1x1xf32>
  %2 = glow.conv3d %0, %1 : tensor<1x2x2x4x5xf32>
  %3 = quant.qcast %2 : tensor<1x2x2x4x5xf32> to tensor<1x2x2x4x5x!quant.uniform<i8:f32, 1.0>>
  func.return %3 : tensor<1x2x2x4x5x!quant.uniform<i8:f32, 1.0>>
}

// Padding is the number zero, whatever stands for it.
// CHECK-LABEL: func.func @planes(
// CHECK:       glow.pad {{.*}} pads [1, 0, 0, 0, 1, 0, 0, 0] : tensor<5x2x4x5x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK:       glow.concat {{.*}} axis 1 : tensor<3x6x4x5x!quant.uniform<u8:f32, 5.000000e-01:128>>
// CHECK:       glow.conv2d {{.*}} pads [1, 1, 1, 1] : tensor<3x2x4x5x!quant.uniform<i8:f32, 1.000000e+00>>
func.func @planes(%x: tensor<1x2x3x4x5x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<1x2x3x4x5x!quant.uniform<i8:f32, 1.0>> {
  %w = glow.constant dense<1> : tensor<2x2x3x3x3xi8> as tensor<2x2x3x3x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %0 = quant.dcast %x : tensor<1x2x3x4x5x!quant.uniform<u8:f32, 0.5:128>> to tensor<1x2x3x4x5xf32>
  %1 = quant.dcast %w : tensor<2x2x3x3x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x2x3x3x3xf32>
  %2 = glow.conv3d %0, %1 pads [1, 1, 1, 1, 1, 1] : tensor<1x2x3x4x5xf32>
  %3 = quant.qcast %2 : tensor<1x2x3x4x5xf32> to tensor<1x2x3x4x5x!quant.uniform<i8:f32, 1.0>>
  func.return %3 : tensor<1x2x3x4x5x!quant.uniform<i8:f32, 1.0>>
}

// A GELU as exporters write it: what has a cast on neither side is computed for each byte.
// CHECK-LABEL: func.func @error_function(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<256xui8>
// CHECK-NEXT: glow.lookup_table %x, %[[T]] : tensor<4x!quant.uniform<u8:f32, 2.500000e-01:2>>
// CHECK-NEXT: func.return
func.func @error_function(%x: tensor<4x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:2>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %1 = glow.splat 1.4142135 : tensor<1xf32>
  %2 = glow.div %0, %1 : tensor<4xf32>
  %3 = glow.erf %2 : tensor<4xf32>
  %4 = glow.splat 1.0 : tensor<1xf32>
  %5 = glow.add %3, %4 : tensor<4xf32>
  %6 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %7 = glow.mul %6, %5 : tensor<4xf32>
  %8 = quant.qcast %7 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25:2>>
  func.return %8 : tensor<4x!quant.uniform<u8:f32, 0.25:2>>
}
