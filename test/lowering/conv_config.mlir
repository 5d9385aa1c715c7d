// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s --check-prefix CHOSEN
// RUN: glow-opt --assign-layout='target=avx512' %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix LOOPS
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/pixels = \[14\], whole_rows = true/pixels = [5], sides = [4]/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix EDITED
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/whole_rows = true/whole_rows = true, order = channels, segments = 2/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix ORDER

// The register tiles and the order of a convolution are chosen where its weights are packed, and
// printed. Others change the loops, and nothing else.

// CHOSEN: cpu.conv2d {{.*}} config #cpu.conv_config<blocks = 2, pixels = [14], whole_rows = true> panels #cpu.panels<blocks = 2, lanes = 16>
// LOOPS-NOT: vector<5x2x16xf32>
// LOOPS: vector<14x2x16xf32>
// LOOPS-NOT: memref.prefetch
// EDITED: vector<5x2x16xf32>
// EDITED: vector<4x2x16xf32>
// ORDER: memref.prefetch
func.func @main(%x: tensor<1x16x14x14xf32>) -> tensor<1x32x14x14xf32> {
  %w = glow.constant dense<0.5> : tensor<32x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x32x14x14xf32>
  func.return %0 : tensor<1x32x14x14xf32>
}
