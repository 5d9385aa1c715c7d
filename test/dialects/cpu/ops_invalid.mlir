// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @blocks(%x: tensor<1x2x4x4x16xf32>) {
  // expected-error @+1 {{40 channels do not fill 2 blocks of 16}}
  %0 = cpu.unpack %x channels 40 : tensor<1x40x4x4xf32>
  func.return
}

// -----

func.func @lanes(%x: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{lanes must be positive, not 0}}
  %0 = cpu.pack %x lanes 0 : tensor<1x3x4x4x0xf32>
  func.return
}

// -----

func.func @rank(%x: tensor<3x4x4xf32>) {
  // expected-error @+1 {{the input must have rank 4, not 3}}
  %0 = cpu.pack %x lanes 16 : tensor<1x1x4x4x16xf32>
  func.return
}

// -----

func.func @input_channels(%x: tensor<1x1x8x8x16xf32>, %w: tensor<256xf32>, %b: tensor<1x16xf32>) {
  // expected-error @+1 {{does not hold 32 channels}}
  %0 = cpu.conv2d %x, %w, %b input_channels 32 output_channels 16 kernel [1, 1] : tensor<1x1x8x8x16xf32>
  func.return
}

// -----

func.func @bias_blocks(%x: tensor<1x1x8x8x16xf32>, %w: tensor<256xf32>, %b: tensor<1x16xf32>) {
  // expected-error @+1 {{the bias must have 2 blocks}}
  %0 = cpu.conv2d %x, %w, %b input_channels 16 output_channels 32 kernel [1, 1] : tensor<1x2x8x8x16xf32>
  func.return
}

// -----

func.func @filters(%x: tensor<1x1x8x8x16xf32>, %w: tensor<1x3x3x8xf32>, %b: tensor<1x16xf32>) {
  // expected-error @+1 {{the weights must have shape (1, 3, 3, 16)}}
  %0 = cpu.depthwise_conv2d %x, %w, %b kernel [3, 3] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----

func.func @groups(%x: tensor<1x1x8x8x16xf32>, %w: tensor<1x3x3x5x16xf32>, %b: tensor<1x16xf32>) {
  // expected-error @+1 {{the weights must have shape (1, 3, 3, 'C / group', 16), with a part of the lanes a group}}
  %0 = cpu.grouped_conv2d %x, %w, %b kernel [3, 3] : tensor<1x1x6x6x16xf32>
  func.return
}

// -----

func.func @extra(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>, %r: tensor<3x1xf32>) {
  // expected-error @+1 {{the epilogue operand tensor<3x1xf32> fits neither the result tensor<2x8xf32> nor its channels}}
  %0 = cpu.matmul %x, %w, %b, %r {
  ^bb0(%sum: f32, %e: f32):
    %s = arith.addf %sum, %e : f32
    glow.yield %s
  } : tensor<2x8xf32>
  func.return
}

// -----

func.func @no_epilogue(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{epilogue operands need an epilogue region}}
  %0 = cpu.matmul %x, %w, %b, %x : tensor<2x8xf32>
  func.return
}

// -----

func.func @yield(%x: tensor<2x8xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{the region must end in glow.yield of the results' element types f32}}
  %0 = cpu.matmul %x, %w, %b {
  ^bb0(%sum: f32):
    glow.yield %sum, %sum
  } : tensor<2x8xf32>
  func.return
}

// -----

func.func @no_words(%x: tensor<2x64xf32>, %w: tensor<512xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{packed weights are words, not tensor<512xf32>}}
  %0 = cpu.block_quantized_matmul %x, %w, %b block_size 32 : tensor<2x8xf32>
  func.return
}

// -----

func.func @three_bits(%x: tensor<2x64xf32>, %w: tensor<512xi32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{weights have 2, 4 or 8 bits, not 3}}
  %0 = cpu.block_quantized_matmul %x, %w, %b bits 3 block_size 32 : tensor<2x8xf32>
  func.return
}

// -----

func.func @empty_blocks(%x: tensor<2x64xf32>, %w: tensor<512xi32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{blocks have at least one weight, not 0}}
  %0 = cpu.block_quantized_matmul %x, %w, %b block_size 0 : tensor<2x8xf32>
  func.return
}

// -----

func.func @scales_of_blocks(%s: tensor<2x1xf32>, %q: tensor<2x64xi8>, %w: tensor<512xi32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{rows have bytes, their blocks scales and sums of tensor<2x2xf32>: not tensor<2x64xi8>, tensor<2x1xf32> and tensor<2x1xf32>}}
  %0 = cpu.int8_block_quantized_matmul %s, %s, %q, %w, %b block_size 32 : tensor<2x8xf32>
  func.return
}

// -----

func.func @block_quantize(%x: tensor<2x64xi8>) {
  // expected-error @+1 {{the rows must be f32, not tensor<2x64xi8>}}
  %0, %1, %2 = cpu.block_quantize %x block_size 32 : tensor<2x64xi8>, tensor<2x2xf32>, tensor<2x2xf32>
  func.return
}

// -----

func.func @odd(%x: tensor<4x7xf32>) {
  // expected-error @+1 {{4 rows and 7 columns have no equal quadrants}}
  %0, %s = cpu.strassen_combinations %x levels 1 : tensor<7x2x3xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @odd_twice(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{6 rows and 8 columns have no equal quadrants}}
  %0, %s = cpu.strassen_combinations %x levels 2 : tensor<49x1x2xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @levels(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{there are one or two levels, not 3}}
  %0, %s = cpu.strassen_combinations %x levels 3 : tensor<343x1x1xf32>, tensor<8xf32>
  func.return
}

// -----

func.func @sums(%m: tensor<4x8xf32>, %s: tensor<4xf32>, %x: tensor<8x2x4xf32>, %w: tensor<448xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{there must be 7 or 49 sums, not 8}}
  %0 = cpu.strassen_matmul %m, %s, %x, %w, %b outer [4] : tensor<4x32xf32>
  func.return
}

// -----

func.func @outer(%m: tensor<5x8xf32>, %s: tensor<4xf32>, %x: tensor<7x2x4xf32>, %w: tensor<448xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{[5] are not 4 rows}}
  %0 = cpu.strassen_matmul %m, %s, %x, %w, %b outer [5] : tensor<5x32xf32>
  func.return
}

// -----

func.func @matrix(%m: tensor<4x4xf32>, %s: tensor<4xf32>, %x: tensor<7x2x4xf32>, %w: tensor<448xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{the matrix must be [2, 2, 8], not [4, 4]}}
  %0 = cpu.strassen_matmul %m, %s, %x, %w, %b outer [2, 2] : tensor<2x2x32xf32>
  func.return
}

// -----

func.func @scales(%m: tensor<4x8xf32>, %s: tensor<2xf32>, %x: tensor<7x2x4xf32>, %w: tensor<448xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{there must be 4 scales, not [2]}}
  %0 = cpu.strassen_matmul %m, %s, %x, %w, %b outer [4] : tensor<4x32xf32>
  func.return
}

// -----

func.func @table(%t: tensor<8xi32>, %x: tensor<1x2x4x4x16xf32>, %w: tensor<96xf32>, %b: tensor<2x16xf32>) {
  // expected-error @+1 {{the table must have 9 numbers}}
  %0 = cpu.sparse_conv2d %t, %x, %w, %b input_channels 20 output_channels 24 tile_blocks 1 entries [6] kernel [1, 1] : tensor<1x2x4x4x16xf32>
  func.return
}

// -----

func.func @sizes(%x: tensor<3x5x4xf32>, %y: tensor<3x6x4xf32>) {
  // expected-error @+1 {{there is no product of [3, 5, 4] and [3, 6, 4]}}
  %0 = cpu.batch_matmul %x, %y lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<3x5x4xf32>
  func.return
}

// -----

func.func @indexed_sizes(%x: tensor<3x5xf32>, %w: tensor<2x4x5x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{there is no product of tensor<3x5xf32> and 24 columns of tensor<2x4x5x8xf32>}}
  %0 = cpu.indexed_matmul %x, %w, %i columns 24 : tensor<3x24xf32>
  func.return
}

// -----

func.func @indices(%x: tensor<3x5xf32>, %w: tensor<2x4x5x8xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{there is an integer for each row of tensor<3x5xf32>, not tensor<2xi64>}}
  %0 = cpu.indexed_matmul %x, %w, %i columns 30 : tensor<3x30xf32>
  func.return
}

// -----

func.func @few_bits_sizes(%x: tensor<3x32xf32>, %w: tensor<2x4x2x4x8xi32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{there is no product of tensor<3x32xf32> and 30 columns of tensor<2x4x2x4x8xi32>}}
  %0 = cpu.indexed_block_matmul %x, %w, %i bits 4 block_size 16 columns 30 : tensor<3x30xf32>
  func.return
}

// -----

func.func @few_bits_floats(%x: tensor<3x32xf32>, %w: tensor<2x4x2x3x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{packed weights are words, not tensor<2x4x2x3x8xf32>}}
  %0 = cpu.indexed_block_matmul %x, %w, %i bits 4 block_size 16 columns 30 : tensor<3x30xf32>
  func.return
}

// -----

func.func @attention_sizes(%x: tensor<3x5x4xf32>, %y: tensor<3x6x4xf32>) {
  // expected-error @+1 {{there is no attention of [3, 5, 4], [3, 6, 4] and [3, 6, 4]}}
  %0 = cpu.attention %x, %y, %y query_axes [0, 1, 2] key_axes [0, 1, 2] value_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<3x5x4xf32>
  func.return
}

// -----

func.func @mask(%x: tensor<3x5x4xf32>, %m: tensor<1x4x5xf32>) {
  // expected-error @+1 {{the mask tensor<1x4x5xf32> does not fit scores [3, 5, 5]}}
  %0 = cpu.attention %x, %x, %x, %m query_axes [0, 1, 2] key_axes [0, 2, 1] value_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<3x5x4xf32>
  func.return
}

// -----

func.func @axes(%x: tensor<3x5x4xf32>, %y: tensor<3x4x6xf32>) {
  // expected-error @+1 {{[0, 1, 1] is not a permutation of 3 axes}}
  %0 = cpu.batch_matmul %x, %y lhs_axes [0, 1, 1] rhs_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<3x5x6xf32>
  func.return
}

// -----

func.func @float_input(%x: tensor<1x1x4x4x16xf32>, %w: tensor<256xi8>, %b: tensor<1x16xi32>) {
  // expected-error @+1 {{the input must be bytes, not tensor<1x1x4x4x16xf32>}}
  %0 = cpu.int8_conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xi32>
  func.return
}

// -----

func.func @wide_weights(%x: tensor<1x1x4x4x16xi16>, %w: tensor<256xi16>, %b: tensor<1x16xi32>) {
  // expected-error @+1 {{the weights must be bytes, not tensor<256xi16>}}
  %0 = cpu.int8_conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xi32>
  func.return
}

// -----

func.func @few_channels(%x: tensor<1x1x4x4x16xui8>, %w: tensor<256xi8>, %b: tensor<1x16xi32>) {
  // expected-error @+1 {{does not hold 17 channels}}
  %0 = cpu.int8_conv2d %x, %w, %b input_channels 17 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xi32>
  func.return
}

// -----

func.func @float_bias(%x: tensor<1x1x4x4x16xui8>, %w: tensor<256xi8>, %b: tensor<1x16xf32>) {
  // expected-error @+1 {{the bias must have 1 blocks of i32, not tensor<1x16xf32>}}
  %0 = cpu.int8_conv2d %x, %w, %b input_channels 16 output_channels 16 kernel [1, 1] : tensor<1x1x4x4x16xi32>
  func.return
}

// -----

func.func @attention_types(%x: tensor<3x5x4xf32>, %m: tensor<1x5x5xi1>) {
  // expected-error @+1 {{operands must have one element type, not f32, f32, f32, i1}}
  %0 = cpu.attention %x, %x, %x, %m query_axes [0, 1, 2] key_axes [0, 2, 1] value_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<3x5x4xf32>
  func.return
}

// -----

func.func @turned_rows(%x: tensor<4x5x3xf32>, %y: tensor<4x6xf32>) {
  // expected-error @+1 {{one matrix multiplies rows that lie in another order}}
  %0 = cpu.batch_matmul %x, %y lhs_axes [2, 1, 0] rhs_axes [0, 1] result_axes [0, 1, 2] : tensor<3x5x6xf32>
  func.return
}

// -----

func.func @rows_of_another_space(%x: tensor<2x3x8xf32>, %y: tensor<2x1x8xf32>) {
  // expected-error @+1 {{[2, 1, 8] are no rows of [2, 3, 8]}}
  %0 = cpu.fused_rows %x, %y {
  ^bb0(%a: f32, %b: f32):
    %s = cpu.row_sum %a : f32
    glow.yield %s
  } : tensor<2x3x1xf32>
  func.return
}

// -----

func.func @some_of_the_rows(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{the result tensor<8xf32> must have all rows of [3, 8]}}
  %0 = cpu.fused_rows %x {
  ^bb0(%a: f32):
    %s = cpu.row_sum %a : f32
    glow.yield %s
  } : tensor<8xf32>
  func.return
}
