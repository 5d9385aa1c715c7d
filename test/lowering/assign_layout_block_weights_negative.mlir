// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' %s | filecheck %s

// What the kernel does not read as it is becomes floats: blocks along the other axis, a depth that
// fills no words, other readers.

// CHECK-LABEL: @along_the_columns
// CHECK-NOT: block_quantized
// CHECK: cpu.matmul
func.func @along_the_columns(%x: tensor<1x64xf32>) -> tensor<1x32xf32> {
  %codes = glow.splat 3 : tensor<64x32xi4>
  %scales = glow.splat 0.5 : tensor<64x2xf32>
  %w = glow.block_dequantize %codes, %scales axis 1 block_size 16 : tensor<64x32xf32>
  %y = glow.matmul %x, %w : tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

// CHECK-LABEL: @no_whole_words
// CHECK-NOT: block_quantized
// CHECK: cpu.matmul
func.func @no_whole_words(%x: tensor<1x36xf32>) -> tensor<1x32xf32> {
  %codes = glow.splat 3 : tensor<36x32xi4>
  %scales = glow.splat 0.5 : tensor<3x32xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 16 : tensor<36x32xf32>
  %y = glow.matmul %x, %w : tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

// CHECK-LABEL: @another_reader
// CHECK: cpu.block_quantized_matmul
// CHECK: glow.add %x, %{{.*}} : tensor<64x64xf32>
func.func @another_reader(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %codes = glow.splat 3 : tensor<64x64xi4>
  %scales = glow.splat 0.5 : tensor<2x64xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 : tensor<64x64xf32>
  %y = glow.matmul %x, %w : tensor<64x64xf32>
  %z = glow.add %x, %w : tensor<64x64xf32>
  func.return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}
