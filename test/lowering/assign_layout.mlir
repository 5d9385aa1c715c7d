// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s

// A first layer reads plain images; blocks go through activation and pool to the border.
// CHECK-LABEL: func.func @stem(
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<2x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed> : tensor<864xf32>
// CHECK-NEXT: %1 = cpu.conv2d %x, %w.packed, %0 input_channels 3 output_channels 32{{.*}} kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x2x8x8x16xf32>
// CHECK-NEXT: %y = glow.relu %1 : tensor<1x2x8x8x16xf32>
// CHECK-NEXT: %z = glow.max_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %z_1 = cpu.unpack %z channels 32 : tensor<1x32x4x4xf32>
// CHECK-NEXT: func.return %z_1 : tensor<1x32x4x4xf32>
func.func @stem(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x4x4xf32> {
  %w = glow.splat 1.0 : tensor<32x3x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<1x32x8x8xf32>
  %z = glow.max_pool2d %y kernel [2, 2] strides [2, 2] : tensor<1x32x4x4xf32>
  func.return %z : tensor<1x32x4x4xf32>
}

// No border between two convolutions; the depthwise one is a node of its own.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %d.packed = glow.constant dense_resource<d.packed> : tensor<1x3x3x16xf32>
// CHECK-NEXT: %0 = glow.constant dense<2.000000e+00> : tensor<1x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_1> : tensor<256xf32>
// CHECK-NEXT: %1 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %1, %w.packed, %0 input_channels 16 output_channels 16{{.*}} kernel [1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z = cpu.depthwise_conv2d %y, %d.packed, %0 kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z_1 = cpu.unpack %z channels 16 : tensor<1x16x4x4xf32>
// CHECK-NEXT: func.return %z_1 : tensor<1x16x4x4xf32>
func.func @chain(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %w = glow.splat 1.0 : tensor<16x16x1x1xf32>
  %d = glow.splat 1.0 : tensor<16x1x3x3xf32>
  %b = glow.splat 2.0 : tensor<16xf32>
  %y = glow.conv2d %x, %w, %b : tensor<1x16x4x4xf32>
  %z = glow.conv2d %y, %d, %b group 16 pads [1, 1, 1, 1] : tensor<1x16x4x4xf32>
  func.return %z : tensor<1x16x4x4xf32>
}

// Groups that fill blocks, and groups that do not: these become one of few nonzero weights.
// CHECK-LABEL: func.func @groups(
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<4x16xf32>
// CHECK-NEXT: %v.packed = glow.constant dense_resource<v.packed> : tensor<512xf32>
// CHECK-NEXT: %1 = glow.constant dense<[0, 8, 16, 24, 32, 0, 1, 2, {{.*}}, 30, 31]> : tensor<37xi32>
// CHECK-NEXT: %2 = glow.constant dense<0.000000e+00> : tensor<2x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_2> : tensor<512xf32>
// CHECK-NEXT: %3 = cpu.pack %x lanes 16 : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %3, %w.packed, %2 input_channels 32 output_channels 32 group 2{{.*}} kernel [1, 1] : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %y_1 = cpu.unpack %y channels 32 : tensor<1x32x4x4xf32>
// CHECK-NEXT: %z = cpu.sparse_conv2d %1, %3, %v.packed, %0 input_channels 32 output_channels 64 tile_blocks 1 entries [32]{{.*}} kernel [1, 1] : tensor<1x4x4x4x16xf32>
// CHECK-NEXT: %z_1 = cpu.unpack %z channels 64 : tensor<1x64x4x4xf32>
// CHECK-NEXT: func.return %y_1, %z_1 : tensor<1x32x4x4xf32>, tensor<1x64x4x4xf32>
func.func @groups(%x: tensor<1x32x4x4xf32>) -> (tensor<1x32x4x4xf32>, tensor<1x64x4x4xf32>) {
  %w = glow.splat 1.0 : tensor<32x16x1x1xf32>
  %v = glow.splat 1.0 : tensor<64x8x1x1xf32>
  %y = glow.conv2d %x, %w group 2 : tensor<1x32x4x4xf32>
  %z = glow.conv2d %x, %v group 4 : tensor<1x64x4x4xf32>
  func.return %y, %z : tensor<1x32x4x4xf32>, tensor<1x64x4x4xf32>
}

// Weights that are not known yet are packed at run time.
// CHECK-LABEL: func.func @computed_weights(
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<1x16xf32>
// CHECK-NEXT: %1 = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> : tensor<256xf32>
// CHECK-NEXT: %2 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %2, %1, %0 input_channels 16 output_channels 16{{.*}} kernel [1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y_1 = cpu.unpack %y channels 16 : tensor<1x16x4x4xf32>
// CHECK-NEXT: func.return %y_1 : tensor<1x16x4x4xf32>
func.func @computed_weights(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  func.return %y : tensor<1x16x4x4xf32>
}

// Those of depthwise convolutions become blocks; groups that fit no blocks stay plain.
// CHECK-LABEL: func.func @computed_groups(
// CHECK: %[[PLANES:.*]] = glow.reshape %d : tensor<1x16x3x3xf32>
// CHECK-NEXT: %[[BLOCKS:.*]] = cpu.pack %[[PLANES]] lanes 16 : tensor<1x1x3x3x16xf32>
// CHECK-NEXT: %[[PACKED:.*]] = glow.reshape %[[BLOCKS]] : tensor<1x3x3x16xf32>
// CHECK: %y = cpu.depthwise_conv2d {{.*}}, %[[PACKED]]
// CHECK: %z = cpu.plain_conv2d {{.*}} group 2 : tensor<1x16x4x4xf32>
func.func @computed_groups(%x: tensor<1x16x4x4xf32>, %d: tensor<16x1x3x3xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %y = glow.conv2d %x, %d group 16 pads [1, 1, 1, 1] : tensor<1x16x4x4xf32>
  %z = glow.conv2d %y, %w group 2 : tensor<1x16x4x4xf32>
  func.return %z : tensor<1x16x4x4xf32>
}

// A block holds four groups: it is read as it is.
// CHECK-LABEL: func.func @groups_of_a_block(
// CHECK: %y = cpu.grouped_conv2d %2, %1, %0 kernel [1, 1] : tensor<1x2x4x4x16xf32>
func.func @groups_of_a_block(%x: tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32> {
  %w = glow.constant dense<0.5> : tensor<32x4x1x1xf32>
  %y = glow.conv2d %x, %w group 8 : tensor<1x32x4x4xf32>
  func.return %y : tensor<1x32x4x4xf32>
}

// Element-wise nodes: channel constants are blocked now, scalars stay.
// CHECK-LABEL: func.func @elementwise(
// CHECK-NEXT: %0 = glow.constant dense<2.000000e+00> : tensor<1x1x1x1x16xf32>
// CHECK-NEXT: %1 = glow.constant dense<0.000000e+00> : tensor<1x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_3> : tensor<256xf32>
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %2 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %2, %w.packed, %1 input_channels 16 output_channels 16{{.*}} kernel [1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %a = glow.mul %y, %0 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %b = glow.mul %half, %a : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %3 = cpu.pack %r lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z = glow.add %b, %3 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z_1 = cpu.unpack %z channels 16 : tensor<1x16x4x4xf32>
// CHECK-NEXT: func.return %z_1 : tensor<1x16x4x4xf32>
func.func @elementwise(%x: tensor<1x16x4x4xf32>, %r: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %w = glow.splat 1.0 : tensor<16x16x1x1xf32>
  %c = glow.constant dense<2.0> : tensor<16x1x1xf32>
  %half = glow.splat 0.5 : tensor<f32>
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  %a = glow.mul %y, %c : tensor<1x16x4x4xf32>
  %b = glow.mul %half, %a : tensor<1x16x4x4xf32>
  %z = glow.add %b, %r : tensor<1x16x4x4xf32>
  func.return %z : tensor<1x16x4x4xf32>
}

// Moves that keep whole blocks: concat, slice, pad, the mean over the plane.
// CHECK-LABEL: func.func @moves(
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<2x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_4> : tensor<512xf32>
// CHECK-NEXT: %1 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %1, %w.packed, %0 input_channels 16 output_channels 32{{.*}} kernel [1, 1] : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %c = glow.concat %y, %y axis 1 : tensor<1x4x4x4x16xf32>
// CHECK-NEXT: %s = glow.slice %c starts [0, 1, 0, 0, 0] sizes [1, 2, 4, 4, 16] steps [1, 1, 1, 1, 1] : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %p = glow.pad %s pads [0, 0, 1, 1, 0, 0, 0, 1, 1, 0] : tensor<1x2x6x6x16xf32>
// CHECK-NEXT: %m = glow.reduce_mean %p axes [2, 3] keepdims : tensor<1x2x1x1x16xf32>
// CHECK-NEXT: %m_1 = cpu.unpack %m channels 32 : tensor<1x32x1x1xf32>
// CHECK-NEXT: %t = glow.slice %m_1 starts [0, 8, 0, 0] sizes [1, 24, 1, 1] steps [1, 1, 1, 1] : tensor<1x24x1x1xf32>
// CHECK-NEXT: func.return %t : tensor<1x24x1x1xf32>
func.func @moves(%x: tensor<1x16x4x4xf32>) -> tensor<1x24x1x1xf32> {
  %w = glow.splat 1.0 : tensor<32x16x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x32x4x4xf32>
  %c = glow.concat %y, %y axis 1 : tensor<1x64x4x4xf32>
  %s = glow.slice %c starts [0, 16, 0, 0] sizes [1, 32, 4, 4] steps [1, 1, 1, 1] : tensor<1x32x4x4xf32>
  %p = glow.pad %s pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x32x6x6xf32>
  %m = glow.reduce_mean %p axes [2, 3] keepdims : tensor<1x32x1x1xf32>
  %t = glow.slice %m starts [0, 8, 0, 0] sizes [1, 24, 1, 1] steps [1, 1, 1, 1] : tensor<1x24x1x1xf32>
  func.return %t : tensor<1x24x1x1xf32>
}

// CHECK-LABEL: func.func @local_response_norm(
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<1x16xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_5> : tensor<256xf32>
// CHECK-NEXT: %1 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %y = cpu.conv2d %1, %w.packed, %0 input_channels 16 output_channels 16{{.*}} kernel [1, 1] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z = cpu.local_response_norm %y channels 16 size 5 : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %z_1 = cpu.unpack %z channels 16 : tensor<1x16x4x4xf32>
// CHECK-NEXT: func.return %z_1 : tensor<1x16x4x4xf32>
func.func @local_response_norm(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %w = glow.splat 1.0 : tensor<16x16x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  %z = glow.local_response_norm %y size 5 : tensor<1x16x4x4xf32>
  func.return %z : tensor<1x16x4x4xf32>
}

// Products with constant matrices; a following bias goes in.
// CHECK-LABEL: func.func @products(
// CHECK-NEXT: %0 = glow.constant dense<2.000000e+00> : tensor<32xf32>
// CHECK-NEXT: %w.packed = glow.constant dense_resource<w.packed_7> : tensor<512xf32>
// CHECK-NEXT: %w.packed_1 = glow.constant dense_resource<w.packed_6> : tensor<512xf32>
// CHECK-NEXT: %1 = glow.constant dense<2.000000e+00> : tensor<32xf32>
// CHECK-NEXT: %y = cpu.matmul %x, %w.packed_1, %1 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<2x5x32xf32>
// CHECK-NEXT: %2 = cpu.matmul %f, %w.packed, %0 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<1x32xf32>
// CHECK-NEXT: %z = glow.relu %2 : tensor<1x32xf32>
// CHECK-NEXT: func.return %y, %z : tensor<2x5x32xf32>, tensor<1x32xf32>
func.func @products(%x: tensor<2x5x16xf32>, %f: tensor<1x16xf32>) -> (tensor<2x5x32xf32>, tensor<1x32xf32>) {
  %w = glow.splat 1.0 : tensor<16x32xf32>
  %b = glow.splat 2.0 : tensor<32xf32>
  %m = glow.matmul %x, %w : tensor<2x5x32xf32>
  %y = glow.add %b, %m : tensor<2x5x32xf32>
  %z = glow.fully_connected %f, %w, %b activation "relu" : tensor<1x32xf32>
  func.return %y, %z : tensor<2x5x32xf32>, tensor<1x32xf32>
}

// No kernels for packed weights of other types: plain nodes.
// CHECK-LABEL: func.func @other_types(
// CHECK-NEXT: %w = glow.constant dense_resource<w> : tensor<16x16x1x1xf64>
// CHECK-NEXT: %0 = glow.constant dense<0.000000e+00> : tensor<16xf64>
// CHECK-NEXT: %v = glow.splat 1.000000e+00 : tensor<16x32xf64>
// CHECK-NEXT: %y = cpu.plain_conv2d %x, %w, %0 : tensor<1x16x4x4xf64>
// CHECK-NEXT: %1 = glow.matmul %f, %v : tensor<1x32xf64>
// CHECK-NEXT: %z = glow.relu %1 : tensor<1x32xf64>
// CHECK-NEXT: func.return %y, %z : tensor<1x16x4x4xf64>, tensor<1x32xf64>
func.func @other_types(%x: tensor<1x16x4x4xf64>, %f: tensor<1x16xf64>) -> (tensor<1x16x4x4xf64>, tensor<1x32xf64>) {
  %w = glow.splat 1.0 : tensor<16x16x1x1xf64>
  %v = glow.splat 1.0 : tensor<16x32xf64>
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf64>
  %z = glow.fully_connected %f, %v activation "relu" : tensor<1x32xf64>
  func.return %y, %z : tensor<1x16x4x4xf64>, tensor<1x32xf64>
}

// Lines of the plane are chosen, and summed up, in blocks.
// CHECK-LABEL: func.func @resize(
// CHECK: %z = glow.gather %y, %places axis 2 : tensor<1x1x8x4x16xf32>
// CHECK-NEXT: %v = glow.sample %z, %table, %weights axis 3 : tensor<1x1x8x3x16xf32>
// CHECK-NEXT: %v_1 = cpu.unpack %v channels 16 : tensor<1x16x8x3xf32>
func.func @resize(%x: tensor<1x16x4x4xf32>, %weights: tensor<3x2xf32>) -> tensor<1x16x8x3xf32> {
  %w = glow.splat 1.0 : tensor<16x16x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x16x4x4xf32>
  %places = glow.constant dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi64>
  %table = glow.constant dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>
  %z = glow.gather %y, %places axis 2 : tensor<1x16x8x4xf32>
  %v = glow.sample %z, %table, %weights axis 3 : tensor<1x16x8x3xf32>
  func.return %v : tensor<1x16x8x3xf32>
}

// Matrices that are computed, as the weights of a network in training, are not packed before.
// CHECK-LABEL: func.func @computed(
// CHECK-NEXT: %y = cpu.batch_matmul %x, %w lhs_axes [0, 1, 2] rhs_axes [1, 0] result_axes [0, 1, 2] : tensor<2x5x8xf32>
// CHECK-NEXT: %g = cpu.batch_matmul %f, %f lhs_axes [1, 0] rhs_axes [0, 1] result_axes [0, 1] : tensor<16x16xf32>
// CHECK-NEXT: func.return %y, %g : tensor<2x5x8xf32>, tensor<16x16xf32>
func.func @computed(%x: tensor<2x5x16xf32>, %w: tensor<8x16xf32>, %f: tensor<9x16xf32>) -> (tensor<2x5x8xf32>, tensor<16x16xf32>) {
  %y = glow.matmul %x, %w transpose_rhs : tensor<2x5x8xf32>
  %g = glow.matmul %f, %f transpose_lhs : tensor<16x16xf32>
  func.return %y, %g : tensor<2x5x8xf32>, tensor<16x16xf32>
}

// Sums over images and the plane stay in blocks, as the statistics of a batch and their gradients.
// CHECK-LABEL: func.func @statistics(
// CHECK: %[[Y:[0-9a-z_]+]] = cpu.conv2d
// CHECK: glow.reduce_mean %[[Y]] axes [0, 2, 3] keepdims : tensor<1x2x1x1x16xf32>
// CHECK: glow.reduce_sum %[[Y]] axes [0, 2, 3] keepdims : tensor<1x2x1x1x16xf32>
// CHECK-NOT: cpu.unpack %[[Y]]
func.func @statistics(%x: tensor<2x16x8x8xf32>, %w: tensor<32x16x3x3xf32>) -> (tensor<1x32x1x1xf32>, tensor<32xf32>) {
  %y = glow.conv2d %x, %w : tensor<2x32x6x6xf32>
  %m = glow.reduce_mean %y axes [0, 2, 3] keepdims : tensor<1x32x1x1xf32>
  %s = glow.reduce_sum %y axes [0, 2, 3] : tensor<32xf32>
  func.return %m, %s : tensor<1x32x1x1xf32>, tensor<32xf32>
}

// Whole blocks of channels are added, too; others are added to the plain image.
// CHECK-LABEL: func.func @padded_channels(
// CHECK:      %y = cpu.conv2d {{.*}} : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %[[U:.*]] = cpu.unpack %y channels 32 : tensor<1x32x4x4xf32>
// CHECK-NEXT: %[[P:.*]] = glow.pad %y pads [0, 1, 0, 0, 0, 0, 2, 0, 0, 0] : tensor<1x5x4x4x16xf32>
// CHECK-NEXT: cpu.unpack %[[P]] channels 80 : tensor<1x80x4x4xf32>
// CHECK-NEXT: glow.pad %[[U]] pads [0, 8, 0, 0, 0, 8, 0, 0] : tensor<1x48x4x4xf32>
func.func @padded_channels(%x: tensor<1x16x4x4xf32>) -> (tensor<1x80x4x4xf32>, tensor<1x48x4x4xf32>) {
  %w = glow.splat 1.0 : tensor<32x16x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x32x4x4xf32>
  %0 = glow.pad %y pads [0, 16, 0, 0, 0, 32, 0, 0] : tensor<1x80x4x4xf32>
  %1 = glow.pad %y pads [0, 8, 0, 0, 0, 8, 0, 0] : tensor<1x48x4x4xf32>
  func.return %0, %1 : tensor<1x80x4x4xf32>, tensor<1x48x4x4xf32>
}
