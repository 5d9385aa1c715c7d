// RUN: glow-opt --lower-quantized='backend=cpu' %s | filecheck %s

// CHECK-LABEL: func.func @product(
// CHECK: %[[P:.*]] = glow.constant dense<128> : tensor<ui8>
// CHECK-NEXT: %[[W:.*]] = glow.constant dense<{{.*}}> : tensor<2x2xi8>
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
// CHECK: %[[P:.*]] = glow.constant dense<3> : tensor<ui8>
// CHECK: %[[Q:.*]] = glow.constant dense<130> : tensor<ui8>
// CHECK: %[[T:.*]] = glow.transpose %{{.*}} permutation [0, 2, 1] : tensor<2x4x5xui8>
// CHECK: glow.matmul_integer %{{.*}}, %[[T]], %[[P]], %[[Q]] : tensor<2x3x5xi32>
// CHECK-NEXT: glow.convert %{{.*}} : tensor<2x3x5xf32>
func.func @computed(%x: tensor<2x3x4x!quant.uniform<u8:f32, 0.5:3>>, %y: tensor<2x5x4x!quant.uniform<u8:f32, 0.25:130>>) -> tensor<2x3x5xf32> {
  %0 = glow.matmul %x, %y transpose_rhs : tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// A convolution of integers that is there already, and its zero points or none.
// CHECK-LABEL: func.func @integers(
// CHECK: glow.conv2d_integer %x, %w, %z, %p : tensor<1x2x3x3xi32>
// CHECK: glow.conv2d_integer %x, %w : tensor<1x2x3x3xi32>
func.func @integers(%x: tensor<1x4x3x3xui8>) -> (tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>) {
  %w = glow.splat 3 : tensor<2x4x1x1xi8>
  %z = glow.splat 128 : tensor<ui8>
  %p = glow.splat 0 : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x2x3x3xi32>
  %1 = glow.conv2d_integer %x, %w : tensor<1x2x3x3xi32>
  func.return %0, %1 : tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>
}

// A zero point that is computed stands in the padding, and is taken off the sums: 2 x 9 x 3 = 54
// times for each channel.
// CHECK-LABEL: func.func @computed_zero_point(
// CHECK-NEXT: %[[W:.*]] = glow.splat 3 : tensor<1x2x3x3xi8>
// CHECK: %[[P:.*]] = glow.pad %x pads [0, 0, 1, 0, 0, 0, 0, 1] : tensor<1x2x4x5xui8>
// CHECK-NEXT: %[[M:.*]] = glow.constant dense<{{.*}}false, false, false, false, false], [true, true, true, true, false]{{.*}}> : tensor<4x5xi1>
// CHECK-NEXT: %[[X:.*]] = glow.select %[[M]], %[[P]], %z : tensor<1x2x4x5xui8>
// CHECK-NEXT: %[[S:.*]] = glow.conv2d_integer %[[X]], %[[W]] : tensor<1x1x2x3xi32>
// CHECK-NEXT: %[[Z:.*]] = glow.convert %z : tensor<i32>
// CHECK-NEXT: %[[C:.*]] = glow.constant dense<54> : tensor<1x1x1xi32>
// CHECK-NEXT: %[[L:.*]] = glow.mul %[[Z]], %[[C]] : tensor<1x1x1xi32>
// CHECK-NEXT: %[[Y:.*]] = glow.sub %[[S]], %[[L]] : tensor<1x1x2x3xi32>
// CHECK-NEXT: func.return %[[Y]]
func.func @computed_zero_point(%x: tensor<1x2x3x4xui8>, %z: tensor<ui8>) -> tensor<1x1x2x3xi32> {
  %w = glow.splat 3 : tensor<1x2x3x3xi8>
  %p = glow.splat 0 : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 0, 0, 1] : tensor<1x1x2x3xi32>
  func.return %0 : tensor<1x1x2x3xi32>
}

// Weights that are no signed bytes less their zero point are 119 lower, which comes back with the
// sums of the windows. Of matrices it is the sums of the rows.
// CHECK-LABEL: func.func @nine_bits(
// CHECK: %[[P:.*]] = glow.constant dense<128> : tensor<ui8>
// CHECK: %[[W:.*]] = glow.constant dense<{{\[\[\[\[}}-128]], {{\[\[}}71]]]]> : tensor<1x2x1x1xi8>
// CHECK: %[[M:.*]] = glow.conv2d_integer %{{.*}}, %[[W]], %[[P]], %{{.*}} : tensor<1x1x3x3xi32>
// CHECK: %[[O:.*]] = glow.constant dense<1> : tensor<1x2x1x1xi8>
// CHECK: %[[S:.*]] = glow.conv2d_integer %{{.*}}, %[[O]], %[[P]], %{{.*}} : tensor<1x1x3x3xi32>
// CHECK: %[[D:.*]] = glow.constant dense<119> : tensor<1x1x1xi32>
// CHECK: %[[X:.*]] = glow.mul %[[S]], %[[D]]
// CHECK: glow.add %[[M]], %[[X]]
// CHECK: glow.matmul_integer %{{.*}} : tensor<3x2xi32>
// CHECK: %[[R:.*]] = glow.constant dense<1> : tensor<2x1xi8>
// CHECK: glow.matmul_integer %{{.*}}, %[[R]], %{{.*}} : tensor<3x1xi32>
func.func @nine_bits(%x: tensor<1x2x3x3x!quant.uniform<u8:f32, 0.5:128>>, %y: tensor<3x2x!quant.uniform<u8:f32, 0.5:3>>) -> (tensor<1x1x3x3xi32>, tensor<3x2xi32>) {
  %w = glow.constant dense<[[[[1]], [[200]]]]> : tensor<1x2x1x1xui8> as tensor<1x2x1x1x!quant.uniform<u8:f32, 0.25:10>>
  %v = glow.constant dense<[[0, 255], [1, 2]]> : tensor<2x2xui8> as tensor<2x2x!quant.uniform<u8:f32, 0.25:10>>
  %0 = glow.conv2d %x, %w : tensor<1x1x3x3xi32>
  %1 = glow.matmul %y, %v : tensor<3x2xi32>
  func.return %0, %1 : tensor<1x1x3x3xi32>, tensor<3x2xi32>
}

// Activations of 16 bits are two bytes: 769 = 3 x 256 + 1, and -32768 is the least signed one.
// CHECK-LABEL: func.func @words(
// CHECK: %[[I:.*]] = glow.convert %{{.*}} : tensor<1x1x3x3xi32>
// CHECK: %[[U:.*]] = glow.shift_right %[[I]], %{{.*}} : tensor<1x1x3x3xi32>
// CHECK: %[[L:.*]] = glow.bitwise_and %[[I]], %{{.*}} : tensor<1x1x3x3xi32>
// CHECK: %[[UB:.*]] = glow.convert %[[U]] : tensor<1x1x3x3xui8>
// CHECK: %[[LB:.*]] = glow.convert %[[L]] : tensor<1x1x3x3xui8>
// CHECK: %[[UP:.*]] = glow.constant dense<3> : tensor<ui8>
// CHECK: %[[LP:.*]] = glow.constant dense<1> : tensor<ui8>
// CHECK: %[[US:.*]] = glow.conv2d_integer %[[UB]], %{{.*}}, %[[UP]], %{{.*}} pads [1, 1, 1, 1]
// CHECK: %[[LS:.*]] = glow.conv2d_integer %[[LB]], %{{.*}}, %[[LP]], %{{.*}} pads [1, 1, 1, 1]
// CHECK: %[[W:.*]] = glow.convert %[[US]] : tensor<1x1x3x3xf64>
// CHECK: %[[M:.*]] = glow.mul %[[W]], %{{.*}} : tensor<1x1x3x3xf64>
// CHECK: %[[N:.*]] = glow.convert %[[LS]] : tensor<1x1x3x3xf64>
// CHECK: glow.add %[[M]], %[[N]] : tensor<1x1x3x3xf64>
// CHECK-COUNT-4: glow.matmul_integer
// CHECK-NOT: glow.matmul_integer
func.func @words(%x: tensor<1x1x3x3x!quant.uniform<u16:f32, 0.5:769>>, %y: tensor<3x2x!quant.uniform<i16:f32, 0.5>>, %z: tensor<2x4x!quant.uniform<u16:f32, 0.5:7>>) -> (tensor<1x1x3x3xf32>, tensor<3x4xf32>) {
  %w = glow.constant dense<3> : tensor<1x1x3x3xi8> as tensor<1x1x3x3x!quant.uniform<i8:f32, 0.25>>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x1x3x3xf32>
  %1 = glow.matmul %y, %z : tensor<3x4xf32>
  func.return %0, %1 : tensor<1x1x3x3xf32>, tensor<3x4xf32>
}

// Unsigned weights of a convolution of integers, and those around another number.
// CHECK-LABEL: func.func @other_weights(
// CHECK-COUNT-2: glow.conv2d_integer
// CHECK-NOT: xf64
func.func @other_weights(%y: tensor<1x4x3x3xui8>) -> (tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>) {
  %w = glow.splat 3 : tensor<2x4x1x1xi8>
  %u = glow.splat 3 : tensor<2x4x1x1xui8>
  %z = glow.splat 128 : tensor<ui8>
  %p = glow.splat 1 : tensor<i8>
  %0 = glow.conv2d_integer %y, %u : tensor<1x2x3x3xi32>
  %1 = glow.conv2d_integer %y, %w, %z, %p : tensor<1x2x3x3xi32>
  func.return %0, %1 : tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>
}

// Signed inputs and computed weights take the reference way.
// CHECK-LABEL: func.func @other_factors(
// CHECK-NOT: glow.conv2d_integer
func.func @other_factors(%x: tensor<1x4x3x3xi8>, %y: tensor<1x4x3x3xui8>, %v: tensor<2x4x1x1xi8>) -> (tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>) {
  %w = glow.splat 3 : tensor<2x4x1x1xi8>
  %0 = glow.conv2d_integer %x, %w : tensor<1x2x3x3xi32>
  %1 = glow.conv2d_integer %y, %v : tensor<1x2x3x3xi32>
  func.return %0, %1 : tensor<1x2x3x3xi32>, tensor<1x2x3x3xi32>
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
