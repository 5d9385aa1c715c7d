// RUN: glow-opt --assign-layout='target=znver3' %s | filecheck %s --check-prefix CHOSEN
// RUN: glow-opt --assign-layout='target=znver4' %s | filecheck %s --check-prefix WIDE
// RUN: glow-opt --assign-layout='target=znver3' --glow-to-instr --plan-memory --instr-to-loops='target=znver3' %s | filecheck %s --check-prefix LOOPS

// One row reads big weights once: in four places in turns, as the hardware fetches them best.

// CHOSEN: cpu.matmul %{{.*}} config #cpu.matmul_config<rows = 1, blocks = 8, prefetch = 0, streams = 4> panels #cpu.panels<blocks = 8, lanes = 8, streams = 4>
// WIDE: cpu.matmul %{{.*}} config #cpu.matmul_config<rows = 1, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = 16>

// LOOPS-LABEL: func.func private @matmul_
// LOOPS: vector.load %{{.*}} : memref<16x4x1024x2x8xf32{{.*}}>, vector<8xf32>
// LOOPS-NOT: memref.prefetch
func.func @main(%x: tensor<1x1024xf32>) -> tensor<1x1024xf32> {
  %w = glow.constant dense<0.5> : tensor<1024x1024xf32>
  %0 = glow.matmul %x, %w : tensor<1x1024xf32>
  func.return %0 : tensor<1x1024xf32>
}
