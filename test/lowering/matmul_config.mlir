// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s --check-prefix CHOSEN
// RUN: glow-opt --assign-layout='target=avx2' %s | filecheck %s --check-prefix AVX2
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/rows = 5/rows = 4/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix EDITED
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/blocks = 3> panels/blocks = 3, cut = rows> panels/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix ROWS
// RUN: glow-opt --assign-layout='target=avx512' %s | sed 's/blocks = 3> panels/blocks = 3, cut = columns> panels/' | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix COLUMNS

// The register tile is chosen where the weights are packed, and printed. Another number of rows
// changes the loops, and nothing else.

// CHOSEN: cpu.matmul %{{.*}} config #cpu.matmul_config<rows = 5, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16>
// AVX2: cpu.matmul %{{.*}} config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = 8>
// Threads share tiles of rows, or panels of columns, with a loop over their rows.

// ROWS-LABEL: func.func private @matmul_
// ROWS: scf.for %{{.*}} = %lo to %hi
// ROWS-NOT: scf.for {{.*}} step %{{[0-9]+}} {
// ROWS: scf.for {{.*}} iter_args
// COLUMNS-LABEL: func.func private @matmul_
// COLUMNS: scf.for %{{.*}} = %lo to %hi
// COLUMNS: scf.for {{.*}} step %{{[0-9]+}} {
// COLUMNS: scf.for {{.*}} iter_args
// EDITED: vector.fma %{{.*}} : vector<4x3x16xf32>
func.func @main(%x: tensor<20x8xf32>) -> tensor<20x40xf32> {
  %w = glow.constant dense<0.5> : tensor<8x40xf32>
  %0 = glow.matmul %x, %w : tensor<20x40xf32>
  func.return %0 : tensor<20x40xf32>
}
