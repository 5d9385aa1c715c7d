// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/pixels = \[7\]/pixels = [5]/; s/strassen_config<rows = 8, blocks = 3/strassen_config<rows = 4, blocks = 3, row_blocks = 2/; s/recurrence_config<rows = 2/recurrence_config<rows = 1/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix EDITED

// Algorithms for products and recurrent layers are configured where their weights are packed.
// Another register tile changes the loops, and nothing else.

// CHECK-LABEL: func.func @winograd(
// CHECK: cpu.winograd_conv2d {{.*}} config #cpu.winograd_config<block_rows = 1, blocks = 2, pixels = [7], fused = true> panels #cpu.panels<blocks = 2, lanes = 16, by_block = true>
// EDITED: func.func private @winograd_fused
// EDITED: vector<5x2x16xf32>
func.func @winograd(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}

// CHECK-LABEL: func.func @strassen(
// CHECK: cpu.strassen_matmul {{.*}} config #cpu.strassen_config<rows = 8, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16>
// EDITED: func.func private @strassen_
// EDITED: vector<4x3x16xf32>
func.func @strassen(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = glow.splat 0.5 : tensor<768x768xf32>
  %0 = glow.matmul %x, %w : tensor<128x768xf32>
  func.return %0 : tensor<128x768xf32>
}

// CHECK-LABEL: func.func @recurrence(
// CHECK: cpu.recurrence {{.*}} config #cpu.recurrence_config<rows = 2, blocks = 1> panels #cpu.panels<blocks = 1, lanes = 16>
// EDITED: func.func private @recurrence_
// EDITED-NOT: vector<2x1x16xf32>
// EDITED: vector<1x1x16xf32>
func.func @recurrence(%x: tensor<2x2x3xf32>) -> tensor<2x1x2x16xf32> {
  %w = glow.splat 0.1 : tensor<1x64x3xf32>
  %r = glow.splat 0.2 : tensor<1x64x16xf32>
  %b = glow.splat 0.3 : tensor<1x128xf32>
  %h = glow.splat 0.0 : tensor<1x2x16xf32>
  %y, %last, %cell = glow.lstm %x, %w, %r, %b, %h, %h : tensor<2x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>
  func.return %y : tensor<2x1x2x16xf32>
}
