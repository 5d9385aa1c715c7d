// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' --cse %s | filecheck %s
// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=neon' %s | filecheck %s --check-prefix FLOATS
// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix FLOATS

// Where the weights allow products to round their rows to bytes, they do on x86: two products of one
// value share what quantizes it. Not so elsewhere, or where numerics are exact.

// CHECK-LABEL: @two_products
// CHECK: %[[Q:.*]], %[[S:.*]], %[[T:.*]] = cpu.block_quantize %x block_size 32 : tensor<3x64xi8>, tensor<3x2xf32>, tensor<3x2xf32>
// CHECK-NEXT: cpu.int8_block_quantized_matmul %[[S]], %[[T]], %[[Q]], %{{.*}}, %{{.*}} block_size 32 config #cpu.matmul_config<rows = 3, blocks = 2> panels #cpu.panels<blocks = 2, lanes = 16> : tensor<3x32xf32>
// CHECK-NOT: cpu.block_quantize
// CHECK: cpu.int8_block_quantized_matmul %[[S]], %[[T]], %[[Q]]
// FLOATS-LABEL: @two_products
// FLOATS-NOT: int8
// FLOATS: cpu.block_quantized_matmul %x
// FLOATS: cpu.block_quantized_matmul %x
func.func @two_products(%x: tensor<3x64xf32>) -> (tensor<3x32xf32>, tensor<3x16xf32>) {
  %codes = glow.splat 3 : tensor<64x32xi4>
  %scales = glow.splat 0.5 : tensor<2x32xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 row_bits 8 : tensor<64x32xf32>
  %y = glow.matmul %x, %w : tensor<3x32xf32>
  %others = glow.splat 1 : tensor<64x16xi4>
  %factors = glow.splat 2.0 : tensor<2x16xf32>
  %v = glow.block_dequantize %others, %factors axis 0 block_size 32 row_bits 8 : tensor<64x16xf32>
  %z = glow.matmul %x, %v : tensor<3x16xf32>
  func.return %y, %z : tensor<3x32xf32>, tensor<3x16xf32>
}
