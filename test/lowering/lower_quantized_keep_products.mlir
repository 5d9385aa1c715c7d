// RUN: glow-opt --lower-quantized='backend=cpu' %s | filecheck %s

// CHECK-LABEL: func.func @product(
// CHECK: %[[W:.*]] = glow.constant dense<{{.*}}> : tensor<2x2xi8>
// CHECK-NEXT: %[[P:.*]] = glow.constant dense<128> : tensor<ui8>
// CHECK-NEXT: %[[Q:.*]] = glow.constant dense<0> : tensor<i8>
// CHECK-NEXT: %[[M:.*]] = glow.matmul_integer %{{.*}}, %[[W]], %[[P]], %[[Q]] : tensor<2x2xi32>
// CHECK-NEXT: %[[B:.*]] = glow.constant dense<{{.*}}> : tensor<1x2xi32>
// CHECK-NEXT: %[[S:.*]] = glow.add %[[M]], %[[B]] : tensor<2x2xi32>
// CHECK-NEXT: %[[U:.*]] = glow.splat 2.000000e+00 : tensor<f32>
// CHECK-NEXT: cpu.requantize %[[S]], %[[U]] low 0.000000e+00 high 2.480000e+02 zero_point 7 : tensor<2x2xui8>
func.func @product(%x: tensor<2x2x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %b = glow.constant dense<[1, -2]> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.125>>
  %0 = glow.fully_connected %x, %w, %b activation "relu" : tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>>
  func.return %0 : tensor<2x2x!quant.uniform<u8:f32, 0.0625:7>>
}

// Of signed activations no kernel multiplies.
// CHECK-LABEL: func.func @signed(
// CHECK-NOT: glow.conv2d_integer
// CHECK: glow.conv2d %{{.*}} : tensor<1x1x1x1xf64>
func.func @signed(%x: tensor<1x1x1x1x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x1x1x1xi32> {
  %w = glow.constant dense<3> : tensor<1x1x1x1xi8> as tensor<1x1x1x1x!quant.uniform<i8:f32, 0.25>>
  %0 = glow.conv2d %x, %w : tensor<1x1x1x1xi32>
  func.return %0 : tensor<1x1x1x1xi32>
}

// Dynamic operands of int8: the sums are a node too.
// CHECK-LABEL: func.func @computed(
// CHECK: %[[T:.*]] = glow.transpose %{{.*}} permutation [0, 2, 1] : tensor<2x4x5xui8>
// CHECK: %[[P:.*]] = glow.constant dense<3> : tensor<ui8>
// CHECK: %[[Q:.*]] = glow.constant dense<130> : tensor<ui8>
// CHECK: glow.matmul_integer %{{.*}}, %[[T]], %[[P]], %[[Q]] : tensor<2x3x5xi32>
// CHECK-NEXT: glow.convert %{{.*}} : tensor<2x3x5xf32>
func.func @computed(%x: tensor<2x3x4x!quant.uniform<u8:f32, 0.5:3>>, %y: tensor<2x5x4x!quant.uniform<u8:f32, 0.25:130>>) -> tensor<2x3x5xf32> {
  %0 = glow.matmul %x, %y transpose_rhs : tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// What has a zero point for each row takes the reference way.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: glow.matmul_integer
// CHECK: glow.matmul %{{.*}} : tensor<3x5xf64>
func.func @rows(%x: tensor<3x4xui8>, %y: tensor<4x5xui8>, %p: tensor<3xui8>, %q: tensor<ui8>) -> tensor<3x5xi32> {
  %0 = glow.matmul_integer %x, %y, %p, %q : tensor<3x5xi32>
  func.return %0 : tensor<3x5xi32>
}

// Numbers that a ReLU made keep their bytes, but not where these are positions in a table: the
// first entry is that of the smallest byte, -128.
// CHECK-LABEL: @relu_before_table
// CHECK: %[[I:.*]] = cpu.requantize %{{.*}} low -1.280000e+02 high 1.270000e+02 zero_point 128 : tensor<4xui8>
// CHECK-NEXT: glow.gather %table, %[[I]] : tensor<4xi8>
func.func @relu_before_table(
    %x: tensor<4x!quant.uniform<i8:f32, 0.5>>, %table: tensor<256xi8>) -> tensor<4xi8> {
  %r = glow.relu %x : tensor<4x!quant.uniform<i8:f32, 0.5>>
  %y = glow.lookup_table %r, %table : tensor<4x!quant.uniform<i8:f32, 0.25>>
  %s = quant.scast %y : tensor<4x!quant.uniform<i8:f32, 0.25>> to tensor<4xi8>
  func.return %s : tensor<4xi8>
}
