// RUN: glow-opt --assign-layout='target=avx512' %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix USUAL
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/blocks = 3>/blocks = 3, prefetch = 2>/' | glow-opt --glow-to-instr | filecheck %s --check-prefix PRINTED
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/blocks = 3>/blocks = 3, prefetch = 2>/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix FURTHER
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/blocks = 3>/blocks = 3, prefetch = 0>/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix NONE

// Tiles of a product ask for the next panel of weights, 8 x 3 registers of 16 floats behind this one.
// `prefetch` says for which: another number changes where, and 0 takes the prefetches away.

// PRINTED: cpu.matmul {{.*}} config #cpu.matmul_config<rows = 5, blocks = 3, prefetch = 2> panels #cpu.panels<blocks = 3, lanes = 16>

// USUAL-LABEL: func.func private @matmul_
// USUAL-NOT: arith.constant 768
// USUAL: arith.constant 384 : index
// USUAL: memref.prefetch
// USUAL: vector.fma %{{.*}} : vector<5x3x16xf32>

// FURTHER-LABEL: func.func private @matmul_
// FURTHER-NOT: arith.constant 384
// FURTHER: arith.constant 768 : index
// FURTHER: memref.prefetch
// FURTHER: vector.fma %{{.*}} : vector<5x3x16xf32>

// NONE-LABEL: func.func private @matmul_
// NONE-NOT: memref.prefetch
// NONE: vector.fma %{{.*}} : vector<5x3x16xf32>
// NONE-NOT: memref.prefetch
func.func @main(%x: tensor<20x8xf32>) -> tensor<20x40xf32> {
  %w = glow.constant dense<0.5> : tensor<8x40xf32>
  %0 = glow.matmul %x, %w : tensor<20x40xf32>
  func.return %0 : tensor<20x40xf32>
}
