// RUN: glow-opt --assign-layout='target=znver3 numerics=exact' %s | filecheck %s --check-prefix CHOSEN
// RUN: glow-opt --assign-layout='target=znver3 numerics=exact' %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=znver3' | filecheck %s --check-prefix LOOPS
// RUN: glow-opt --assign-layout='target=znver3 numerics=exact' %s | sed 's/, rows = 14, chunk = 11//' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=znver3' | filecheck %s --check-prefix WHOLE
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix WIDE

// With sixteen registers many input channels come in chunks, whose sums wait on the stack: 14 rows
// of 14 pixels of two blocks. All channels at once need no such place, and 32 registers no chunks.

// CHOSEN: cpu.conv2d {{.*}} config #cpu.conv_config<blocks = 2, pixels = [5], whole_rows = true, rows = 14, chunk = 11>
// LOOPS: memref.alloca{{.*}} : memref<196x2x8xf32>
// WHOLE-NOT: memref.alloca
// WIDE: cpu.conv2d {{.*}} config #cpu.conv_config<
// WIDE-NOT: chunk
// WIDE: panels
func.func @main(%x: tensor<1x256x14x14xf32>) -> tensor<1x256x14x14xf32> {
  %w = glow.constant dense<0.5> : tensor<256x256x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x256x14x14xf32>
  func.return %0 : tensor<1x256x14x14xf32>
}
