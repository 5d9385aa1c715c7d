// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @bytes(
// CHECK-NEXT: %0 = cpu.int8_conv2d %x, %w, %b, %s input_channels 16 output_channels 16 zero_point 7 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: f32):
// CHECK: glow.yield %{{.*}}
// CHECK-NEXT: } : tensor<1x1x4x4x16xui8>
// CHECK-NEXT: %{{.*}} = cpu.int8_depthwise_conv2d %0, %d, %b kernel [3, 3] : tensor<1x1x2x2x16xi32>
func.func @bytes(%x: tensor<1x1x4x4x16xui8>, %w: tensor<256xi8>, %d: tensor<1x3x3x16xi8>, %b: tensor<1x16xi32>, %s: tensor<1x1x1x1x16xf32>) -> tensor<1x1x2x2x16xi32> {
  %0 = cpu.int8_conv2d %x, %w, %b, %s input_channels 16 output_channels 16 zero_point 7 kernel [1, 1] {
  ^bb0(%sum: i32, %scale: f32):
    %f = arith.sitofp %sum : i32 to f32
    %m = arith.mulf %f, %scale : f32
    %i = arith.fptoui %m : f32 to i8
    %u = builtin.unrealized_conversion_cast %i : i8 to ui8
    glow.yield %u
  } : tensor<1x1x4x4x16xui8>
  %1 = cpu.int8_depthwise_conv2d %0, %d, %b kernel [3, 3] : tensor<1x1x2x2x16xi32>
  func.return %1 : tensor<1x1x2x2x16xi32>
}

// CHECK-LABEL: func.func @computed(
// CHECK-NEXT: %0 = cpu.int8_batch_matmul %x, %y, %p lhs_axes [0, 1, 2] rhs_axes [0, 2, 1] result_axes [1, 0, 2] plain_lhs plain_rhs : tensor<3x2x5xi32>
func.func @computed(%x: tensor<2x3x4xui8>, %y: tensor<1x5x4xi8>, %p: tensor<2xi32>) -> tensor<3x2x5xi32> {
  %0 = cpu.int8_batch_matmul %x, %y, %p lhs_axes [0, 1, 2] rhs_axes [0, 2, 1] result_axes [1, 0, 2] plain_lhs plain_rhs : tensor<3x2x5xi32>
  func.return %0 : tensor<3x2x5xi32>
}

// CHECK-LABEL: func.func @sums(
// CHECK-NEXT: %0 = cpu.int8_sum_pool2d %x zero_point 3 kernel [2, 2] strides [2, 2] ceil_mode : tensor<1x1x3x3x16xi32>
// CHECK-NEXT: %{{.*}} = cpu.int8_sum_pool2d %x, %s kernel [5, 5] {
// CHECK: } : tensor<1x1x1x1x16xui8>
func.func @sums(%x: tensor<1x1x5x5x16xui8>, %s: tensor<1x1x1x1x16xf32>) -> (tensor<1x1x3x3x16xi32>, tensor<1x1x1x1x16xui8>) {
  %0 = cpu.int8_sum_pool2d %x zero_point 3 kernel [2, 2] strides [2, 2] ceil_mode : tensor<1x1x3x3x16xi32>
  %1 = cpu.int8_sum_pool2d %x, %s kernel [5, 5] {
  ^bb0(%sum: i32, %scale: f32):
    %f = arith.sitofp %sum : i32 to f32
    %m = arith.mulf %f, %scale : f32
    %b = arith.fptoui %m : f32 to i8
    %i = builtin.unrealized_conversion_cast %b : i8 to ui8
    glow.yield %i
  } : tensor<1x1x1x1x16xui8>
  func.return %0, %1 : tensor<1x1x3x3x16xi32>, tensor<1x1x1x1x16xui8>
}
