// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @borders(
// CHECK-NEXT: %0 = cpu.pack %x lanes 16 : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: %1 = cpu.unpack %0 channels 20 : tensor<1x20x4x4xf32>
// CHECK-NEXT: func.return %1 : tensor<1x20x4x4xf32>
func.func @borders(%x: tensor<1x20x4x4xf32>) -> tensor<1x20x4x4xf32> {
  %0 = cpu.pack %x lanes 16 : tensor<1x2x4x4x16xf32>
  %1 = cpu.unpack %0 channels 20 : tensor<1x20x4x4xf32>
  func.return %1 : tensor<1x20x4x4xf32>
}

// CHECK-LABEL: func.func @convolutions(
// CHECK-NEXT: %0 = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: %1 = cpu.conv2d %i, %w, %b input_channels 3 output_channels 16 kernel [3, 3] : tensor<1x1x6x6x16xf32>
// CHECK-NEXT: %2 = cpu.depthwise_conv2d %x, %d, %b kernel [3, 3] dilations [2, 2] : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: %3 = cpu.grouped_conv2d %x, %g, %b kernel [3, 3] : tensor<1x1x6x6x16xf32>
// CHECK-NEXT: %4 = cpu.conv2d %x, %w, %b, %r input_channels 16 output_channels 16 kernel [2, 2] strides [2, 2] {
// CHECK-NEXT: ^bb0(%sum: f32, %residual: f32):
// CHECK-NEXT: %s = arith.addf %sum, %residual : f32
// CHECK-NEXT: glow.yield %s
// CHECK-NEXT: } : tensor<1x1x4x4x16xf32>
// CHECK-NEXT: func.return
func.func @convolutions(%x: tensor<1x1x8x8x16xf32>, %i: tensor<1x3x8x8xf32>, %w: tensor<2304xf32>, %d: tensor<1x3x3x16xf32>, %g: tensor<1x3x3x8x16xf32>, %b: tensor<1x16xf32>, %r: tensor<1x1x4x4x16xf32>) {
  %0 = cpu.conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x8x8x16xf32>
  %1 = cpu.conv2d %i, %w, %b input_channels 3 output_channels 16 kernel [3, 3] : tensor<1x1x6x6x16xf32>
  %2 = cpu.depthwise_conv2d %x, %d, %b kernel [3, 3] dilations [2, 2] : tensor<1x1x4x4x16xf32>
  %3 = cpu.grouped_conv2d %x, %g, %b kernel [3, 3] : tensor<1x1x6x6x16xf32>
  %4 = cpu.conv2d %x, %w, %b, %r input_channels 16 output_channels 16 kernel [2, 2] strides [2, 2] {
  ^bb0(%sum: f32, %residual: f32):
    %s = arith.addf %sum, %residual : f32
    glow.yield %s
  } : tensor<1x1x4x4x16xf32>
  func.return
}

// CHECK-LABEL: func.func @sparse(
// CHECK-NEXT: %0 = cpu.sparse_conv2d %t, %x, %w, %b, %r input_channels 20 output_channels 24 tile_blocks 1 entries [6] kernel [1, 1] {
// CHECK-NEXT: ^bb0(%sum: f32, %residual: f32):
// CHECK-NEXT: %s = arith.addf %sum, %residual : f32
// CHECK-NEXT: glow.yield %s
// CHECK-NEXT: } : tensor<1x2x4x4x16xf32>
// CHECK-NEXT: func.return
func.func @sparse(%t: tensor<9xi32>, %x: tensor<1x2x4x4x16xf32>, %w: tensor<96xf32>, %b: tensor<2x16xf32>, %r: tensor<1x2x4x4x16xf32>) {
  %0 = cpu.sparse_conv2d %t, %x, %w, %b, %r input_channels 20 output_channels 24 tile_blocks 1 entries [6] kernel [1, 1] {
  ^bb0(%sum: f32, %residual: f32):
    %s = arith.addf %sum, %residual : f32
    glow.yield %s
  } : tensor<1x2x4x4x16xf32>
  func.return
}

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %0 = cpu.plain_conv2d %x, %w, %b, %c group 2 {
// CHECK-NEXT: ^bb0(%sum: f32, %factor: f32):
// CHECK-NEXT: %s = arith.mulf %sum, %factor : f32
// CHECK-NEXT: glow.yield %s
// CHECK-NEXT: } : tensor<1x4x6x6xf32>
// CHECK-NEXT: func.return %0 : tensor<1x4x6x6xf32>
func.func @plain(%x: tensor<1x6x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %c: tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32> {
  %0 = cpu.plain_conv2d %x, %w, %b, %c group 2 {
  ^bb0(%sum: f32, %factor: f32):
    %s = arith.mulf %sum, %factor : f32
    glow.yield %s
  } : tensor<1x4x6x6xf32>
  func.return %0 : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %0 = cpu.matmul %x, %w, %b : tensor<2x5x32xf32>
// CHECK-NEXT: func.return %0 : tensor<2x5x32xf32>
func.func @product(%x: tensor<2x5x16xf32>, %w: tensor<512xf32>, %b: tensor<32xf32>) -> tensor<2x5x32xf32> {
  %0 = cpu.matmul %x, %w, %b : tensor<2x5x32xf32>
  func.return %0 : tensor<2x5x32xf32>
}

// CHECK-LABEL: func.func @block_quantized_product(
// CHECK-NEXT: %0 = cpu.block_quantized_matmul %x, %w, %b block_size 32 : tensor<2x5x32xf32>
// CHECK-NEXT: %1 = cpu.block_quantized_matmul %x, %w, %b bits 8 block_size 16 points : tensor<2x5x32xf32>
// CHECK-NEXT: func.return %0 : tensor<2x5x32xf32>
func.func @block_quantized_product(%x: tensor<2x5x64xf32>, %w: tensor<320xi32>, %b: tensor<32xf32>) -> tensor<2x5x32xf32> {
  %0 = cpu.block_quantized_matmul %x, %w, %b bits 4 block_size 32 : tensor<2x5x32xf32>
  %1 = cpu.block_quantized_matmul %x, %w, %b bits 8 block_size 16 points : tensor<2x5x32xf32>
  func.return %0 : tensor<2x5x32xf32>
}

// CHECK-LABEL: func.func @int8_block_quantized_product(
// CHECK-NEXT: %q, %s, %t = cpu.block_quantize %x block_size 32 : tensor<2x5x80xi8>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
// CHECK-NEXT: %0 = cpu.int8_block_quantized_matmul %s, %t, %q, %w, %b block_size 32 : tensor<2x5x32xf32>
// CHECK-NEXT: func.return %0 : tensor<2x5x32xf32>
func.func @int8_block_quantized_product(%x: tensor<2x5x80xf32>, %w: tensor<320xi32>, %b: tensor<32xf32>) -> tensor<2x5x32xf32> {
  %q, %s, %t = cpu.block_quantize %x block_size 32 : tensor<2x5x80xi8>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
  %0 = cpu.int8_block_quantized_matmul %s, %t, %q, %w, %b block_size 32 : tensor<2x5x32xf32>
  func.return %0 : tensor<2x5x32xf32>
}

// CHECK-LABEL: func.func @rows_product(
// CHECK-NEXT: %0 = cpu.batch_matmul %x, %w, %b lhs_axes [0, 1, 2] rhs_axes [1, 0] result_axes [0, 1, 2] {
// CHECK-NEXT: ^bb0(%1: f32, %2: f32):
// CHECK-NEXT: %3 = arith.addf %1, %2 : f32
// CHECK-NEXT: glow.yield %3
// CHECK-NEXT: } : tensor<2x5x8xf32>
func.func @rows_product(%x: tensor<2x5x4xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %0 = cpu.batch_matmul %x, %w, %b lhs_axes [0, 1, 2] rhs_axes [1, 0] result_axes [0, 1, 2] {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.addf %1, %2 : f32
    glow.yield %3
  } : tensor<2x5x8xf32>
  func.return %0 : tensor<2x5x8xf32>
}

// CHECK-LABEL: func.func @batch_product(
// CHECK-NEXT: %0 = cpu.batch_matmul %x, %y lhs_axes [1, 0, 2] rhs_axes [1, 2, 0] result_axes [1, 0, 2] : tensor<5x3x6xf32>
// CHECK-NEXT: func.return %0 : tensor<5x3x6xf32>
func.func @batch_product(%x: tensor<5x3x4xf32>, %y: tensor<6x3x4xf32>) -> tensor<5x3x6xf32> {
  %0 = cpu.batch_matmul %x, %y lhs_axes [1, 0, 2] rhs_axes [1, 2, 0] result_axes [1, 0, 2] : tensor<5x3x6xf32>
  func.return %0 : tensor<5x3x6xf32>
}

// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %0 = cpu.attention %x, %y, %y query_axes [1, 0, 2] key_axes [1, 2, 0] value_axes [1, 0, 2] result_axes [1, 0, 2] : tensor<8x3x4xf32>
// CHECK-NEXT: %1 = cpu.attention %x, %y, %y, %m query_axes [1, 0, 2] key_axes [1, 2, 0] value_axes [1, 0, 2] result_axes [0, 1, 2] scale 5.000000e-01 : tensor<3x8x4xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<8x3x4xf32>, tensor<3x8x4xf32>
func.func @attention(%x: tensor<8x3x4xf32>, %y: tensor<6x3x4xf32>, %m: tensor<1x8x6xf32>) -> (tensor<8x3x4xf32>, tensor<3x8x4xf32>) {
  %0 = cpu.attention %x, %y, %y query_axes [1, 0, 2] key_axes [1, 2, 0] value_axes [1, 0, 2] result_axes [1, 0, 2] : tensor<8x3x4xf32>
  %1 = cpu.attention %x, %y, %y, %m query_axes [1, 0, 2] key_axes [1, 2, 0] value_axes [1, 0, 2] result_axes [0, 1, 2] scale 0.5 : tensor<3x8x4xf32>
  func.return %0, %1 : tensor<8x3x4xf32>, tensor<3x8x4xf32>
}

// An odd last row counts twice in the sums.
// CHECK-LABEL: func.func @strassen_odd(
// CHECK-NEXT: %sums, %scales = cpu.strassen_combinations %x levels 1 : tensor<7x3x8xf32>, tensor<6xf32>
// CHECK-NEXT: %0 = cpu.strassen_matmul %x, %scales, %sums, %w, %b outer [1, 5] : tensor<1x5x32xf32>
func.func @strassen_odd(%x: tensor<1x5x16xf32>, %w: tensor<896xf32>, %b: tensor<32xf32>) -> tensor<1x5x32xf32> {
  %sums, %scales = cpu.strassen_combinations %x levels 1 : tensor<7x3x8xf32>, tensor<6xf32>
  %0 = cpu.strassen_matmul %x, %scales, %sums, %w, %b outer [1, 5] : tensor<1x5x32xf32>
  func.return %0 : tensor<1x5x32xf32>
}

// CHECK-LABEL: func.func @strassen(
// CHECK-NEXT: %sums, %scales = cpu.strassen_combinations %x levels 1 : tensor<7x5x8xf32>, tensor<10xf32>
// CHECK-NEXT: %0 = cpu.strassen_matmul %x, %scales, %sums, %w, %b outer [2, 5] : tensor<2x5x32xf32>
// CHECK-NEXT: func.return %0 : tensor<2x5x32xf32>
func.func @strassen(%x: tensor<2x5x16xf32>, %w: tensor<896xf32>, %b: tensor<32xf32>) -> tensor<2x5x32xf32> {
  %sums, %scales = cpu.strassen_combinations %x levels 1 : tensor<7x5x8xf32>, tensor<10xf32>
  %0 = cpu.strassen_matmul %x, %scales, %sums, %w, %b outer [2, 5] : tensor<2x5x32xf32>
  func.return %0 : tensor<2x5x32xf32>
}

// CHECK-LABEL: func.func @local_response_norm(
// CHECK-NEXT: %0 = cpu.local_response_norm %x channels 10 size 5 : tensor<1x1x8x8x16xf32>
// CHECK-NEXT: func.return %0 : tensor<1x1x8x8x16xf32>
func.func @local_response_norm(%x: tensor<1x1x8x8x16xf32>) -> tensor<1x1x8x8x16xf32> {
  %0 = cpu.local_response_norm %x channels 10 size 5 : tensor<1x1x8x8x16xf32>
  func.return %0 : tensor<1x1x8x8x16xf32>
}

// CHECK-LABEL: func.func @byte_matrix(
// CHECK-NEXT: %0 = cpu.int8_matmul %x, %w, %b : tensor<2x8xi32>
func.func @byte_matrix(%x: tensor<2x4xui8>, %w: tensor<64xi8>, %b: tensor<8xi32>) -> tensor<2x8xi32> {
  %0 = cpu.int8_matmul %x, %w, %b : tensor<2x8xi32>
  func.return %0 : tensor<2x8xi32>
}

// CHECK-LABEL: func.func @computed_weights(
// CHECK-NEXT: %0 = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> : tensor<4608xf32>
// CHECK-NEXT: %1 = cpu.pack_weights %w group 2 input_lanes 4 panels #cpu.panels<blocks = 3, lanes = 4> turned : tensor<3456xf32>
// CHECK-NEXT: %2 = cpu.unpack_weights %0 lanes 16 input_lanes 16 shape [20, 16, 3, 3] : tensor<20x16x3x3xf32>
// CHECK-NEXT: func.return %2 : tensor<20x16x3x3xf32>
func.func @computed_weights(%w: tensor<20x16x3x3xf32>) -> tensor<20x16x3x3xf32> {
  %0 = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> : tensor<4608xf32>
  %1 = cpu.pack_weights %w group 2 input_lanes 4 panels #cpu.panels<blocks = 3, lanes = 4> turned : tensor<3456xf32>
  %2 = cpu.unpack_weights %0 lanes 16 input_lanes 16 shape [20, 16, 3, 3] : tensor<20x16x3x3xf32>
  func.return %2 : tensor<20x16x3x3xf32>
}

// CHECK-LABEL: func.func @weight_gradient(
// CHECK-NEXT: %0 = cpu.conv2d_weight_gradient %x, %g input_channels 16 output_channels 20 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : tensor<4608xf32>
// CHECK-NEXT: func.return %0 : tensor<4608xf32>
func.func @weight_gradient(%x: tensor<2x1x6x6x16xf32>, %g: tensor<2x2x3x3x16xf32>) -> tensor<4608xf32> {
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 16 output_channels 20 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : tensor<4608xf32>
  func.return %0 : tensor<4608xf32>
}

// CHECK-LABEL: func.func @fused_rows(
// CHECK-NEXT: %r, %t = cpu.fused_rows %x, %c {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT: %3 = cpu.row_sum %2 : f32
// CHECK-NEXT: %4 = arith.subf %0, %3 : f32
// CHECK-NEXT: glow.yield %4, %3
// CHECK-NEXT: } : tensor<3x5x8xf32>, tensor<3x5x1xf32>
// CHECK-NEXT: func.return %r, %t
func.func @fused_rows(%x: tensor<3x5x8xf32>, %c: tensor<8xf32>) -> (tensor<3x5x8xf32>, tensor<3x5x1xf32>) {
  %r, %t = cpu.fused_rows %x, %c {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.mulf %0, %1 : f32
    %3 = cpu.row_sum %2 : f32
    %4 = arith.subf %0, %3 : f32
    glow.yield %4, %3
  } : tensor<3x5x8xf32>, tensor<3x5x1xf32>
  func.return %r, %t : tensor<3x5x8xf32>, tensor<3x5x1xf32>
}
