// RUN: glow-opt --choose-configs='target=avx512' %s | filecheck %s
// RUN: glow-opt --choose-configs='target=avx2' %s | filecheck %s --check-prefix AVX2
// RUN: glow-opt --choose-configs='target=avx512' %s | sed 's/direct, rows = 8/direct, rows = 4/; s/depthwise_config<pixels = 4/depthwise_config<pixels = 3/; s/channels = 2, vectors = 4/channels = 8, vectors = 1/; s/rows = 8, score_rows = 8/rows = 6, score_rows = 3/; s/value_rows = 8/value_rows = 5/; s/cpu.matmul_config<rows = 8, blocks = 2/cpu.matmul_config<rows = 7, blocks = 1/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix EDITED

// Kernels of nodes without packed weights are configured by a pass, for a target. Another
// configuration changes the loops, and nothing else.

// CHECK-LABEL: func.func @products(
// CHECK: %0 = cpu.batch_matmul %a, %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.batch_matmul_config<form = direct, rows = 8, blocks = 2>
// CHECK: %1 = cpu.batch_matmul %a, %c lhs_axes [0, 1, 2] rhs_axes [0, 2, 1] result_axes [0, 1, 2] config #cpu.batch_matmul_config<form = pack, rows = 8, blocks = 2>
// AVX2: config #cpu.batch_matmul_config<form = direct, rows = {{[0-9]+}}, blocks = 2>
// EDITED: func.func private @batch_matmul
// EDITED: vector<4x2x16xf32>
func.func @products(%a: tensor<4x16x32xf32>, %b: tensor<4x32x32xf32>, %c: tensor<4x64x32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16x64xf32>) {
  %0 = cpu.batch_matmul %a, %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<4x16x32xf32>
  %1 = cpu.batch_matmul %a, %c lhs_axes [0, 1, 2] rhs_axes [0, 2, 1] result_axes [0, 1, 2] : tensor<4x16x64xf32>
  func.return %0, %1 : tensor<4x16x32xf32>, tensor<4x16x64xf32>
}

// CHECK-LABEL: func.func @attention(
// CHECK: config #cpu.attention_config<rows = 8, score_rows = 8, score_blocks = 2, value_rows = 8, value_blocks = 2>
// EDITED: func.func private @attention
// EDITED: vector<3x2x16xf32>
// EDITED: vector<5x2x16xf32>
func.func @attention(%q: tensor<2x16x32xf32>, %k: tensor<2x32x24xf32>, %v: tensor<2x24x32xf32>) -> tensor<2x16x32xf32> {
  %0 = cpu.attention %q, %k, %v query_axes [0, 1, 2] key_axes [0, 1, 2] value_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<2x16x32xf32>
  func.return %0 : tensor<2x16x32xf32>
}

// CHECK-LABEL: func.func @bytes(
// CHECK: config #cpu.matmul_config<rows = 8, blocks = 2>
// EDITED: func.func private @int8_batch_matmul
// EDITED: vector<7x1x16xi32>
func.func @bytes(%q: tensor<2x16x32xui8>, %k: tensor<2x32x24xui8>, %p: tensor<2xi32>) -> tensor<2x16x24xi32> {
  %0 = cpu.int8_batch_matmul %q, %k, %p lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] : tensor<2x16x24xi32>
  func.return %0 : tensor<2x16x24xi32>
}

// CHECK-LABEL: func.func @channels(
// CHECK: config #cpu.depthwise_config<pixels = 4, sides = 4, segments = 3>
// EDITED: func.func private @depthwise
// EDITED: vector<3x16xf32>
func.func @channels(%x: tensor<1x1x14x14x16xf32>, %w: tensor<1x3x3x16xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x14x14x16xf32> {
  %0 = cpu.depthwise_conv2d %x, %w, %b kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x1x14x14x16xf32>
  func.return %0 : tensor<1x1x14x14x16xf32>
}

// CHECK-LABEL: func.func @plain(
// CHECK: config #cpu.plain_conv_config<channels = 2, vectors = 4>
// EDITED: func.func private @plain_conv2d
// EDITED: vector<8x16xf32>
func.func @plain(%x: tensor<1x4x66x66xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x64x64xf32> {
  %0 = cpu.plain_conv2d %x, %w, %b : tensor<1x8x64x64xf32>
  func.return %0 : tensor<1x8x64x64xf32>
}

// What has a configuration keeps it.
// CHECK-LABEL: func.func @kept(
// CHECK: config #cpu.plain_conv_config<channels = 1, vectors = 1>
func.func @kept(%x: tensor<1x4x16x16xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x16x16xf32> {
  %0 = cpu.plain_conv2d %x, %w, %b pads [1, 1, 1, 1] config #cpu.plain_conv_config<channels = 1, vectors = 1> : tensor<1x8x16x16xf32>
  func.return %0 : tensor<1x8x16x16xf32>
}
