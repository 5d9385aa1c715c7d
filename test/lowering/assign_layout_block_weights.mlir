// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --lower-quantized --assign-layout='target=avx512' %s | filecheck %s --check-prefix FLOATS
// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' --glow-to-instr --plan-memory --instr-to-loops='target=avx512' %s | filecheck %s --check-prefix LOOPS

// Weights of four bits stay in words: of 16 columns a scale and four words of eight weights. Columns
// that are not there are 0. Without the backend's kernels they are floats.

// CHECK-LABEL: @product
// CHECK: %[[W:.*]] = glow.constant dense_resource<codes.packed> : tensor<1280xi32>
// CHECK: cpu.block_quantized_matmul %x, %[[W]], %{{.*}} block_size 32 config #cpu.matmul_config<rows = 1, blocks = 4> panels #cpu.panels<blocks = 4, lanes = 16> : tensor<1x64xf32>
// FLOATS-LABEL: @product
// FLOATS-NOT: block
// FLOATS: cpu.matmul %x

// Of one row, sums of a block are multiplied by its scale.

// LOOPS-LABEL: func.func private @block_quantized_matmul_
// LOOPS: vector.transfer_read %{{.*}} memref<1x4x5x4x16xi32>, vector<4x16xi32>
// LOOPS: arith.andi
// LOOPS-NEXT: arith.ori
// LOOPS-NEXT: vector.bitcast
// LOOPS-NEXT: arith.subf
// LOOPS-NOT: arith.mulf
// LOOPS: vector.fma
func.func @product(%x: tensor<1x128xf32>) -> tensor<1x64xf32> {
  %codes = glow.splat 3 : tensor<128x64xi4>
  %scales = glow.splat 0.5 : tensor<4x64xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 : tensor<128x64xf32>
  %y = glow.matmul %x, %w : tensor<1x64xf32>
  func.return %y : tensor<1x64xf32>
}

// Zero points of integers without a sign are stored, and a bias that is added afterwards is taken.

// CHECK-LABEL: @points
// CHECK: cpu.block_quantized_matmul %x, %{{.*}}, %{{.*}} bits 8 block_size 16 points config {{.*}} : tensor<2x3x16xf32>
// CHECK-NEXT: func.return
func.func @points(%x: tensor<2x3x32xf32>) -> tensor<2x3x16xf32> {
  %codes = glow.splat 3 : tensor<32x16xui8>
  %scales = glow.splat 0.5 : tensor<2x16xf32>
  %b = glow.splat 2.0 : tensor<16xf32>
  %w = glow.block_dequantize %codes, %scales axis 0 block_size 16 : tensor<32x16xf32>
  %y = glow.matmul %x, %w : tensor<2x3x16xf32>
  %z = glow.add %y, %b : tensor<2x3x16xf32>
  func.return %z : tensor<2x3x16xf32>
}

// Zero points that are all in the middle of the codes are not.

// CHECK-LABEL: @middle
// CHECK: cpu.block_quantized_matmul %x, %{{.*}}, %{{.*}} block_size 32 config
func.func @middle(%x: tensor<1x64xf32>) -> tensor<1x16xf32> {
  %codes = glow.splat 3 : tensor<64x16xui4>
  %scales = glow.splat 0.5 : tensor<2x16xf32>
  %points = glow.splat 8 : tensor<2x16xui4>
  %w = glow.block_dequantize %codes, %scales, %points axis 0 block_size 32 : tensor<64x16xf32>
  %y = glow.matmul %x, %w : tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}
