// RUN: glow-opt --assign-layout='target=avx512' %s -o %t.own.mlir
// RUN: sed 's/pixels = \[7\]/pixels = [5]/; s/pixels = \[14\]/pixels = [7]/; s/<rows = 5, blocks = 3/<rows = 6, blocks = 3/' %t.own.mlir > %t.edited.mlir
// RUN: glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' %t.own.mlir -o %t.own.loops.mlir
// RUN: glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' %t.edited.mlir -o %t.edited.loops.mlir
// RUN: sed '/private @conv2d_/,/^  }/d; /private @matmul_/,/^  }/d; /private @winograd_/,/^  }/d; s/call @\([a-z0-9_]*_\)[0-9a-f]*(/call @\1(/' %t.own.loops.mlir > %t.own.rest
// RUN: sed '/private @conv2d_/,/^  }/d; /private @matmul_/,/^  }/d; /private @winograd_/,/^  }/d; s/call @\([a-z0-9_]*_\)[0-9a-f]*(/call @\1(/' %t.edited.loops.mlir > %t.edited.rest
// RUN: diff %t.own.rest %t.edited.rest
// RUN: filecheck %s --input-file %t.edited.rest --check-prefix REST
// RUN: filecheck %s --input-file %t.edited.loops.mlir --check-prefix LOOPS

// Who edits three register tiles in text changes the kernels' loops and names (and caches go by
// names), and nothing else: the same buffers at the same offsets, and other kernels as they were.

// REST-NOT: private @conv2d_
// REST: func.func private @pack_
// REST: func.call @conv2d_(
// REST: func.call @matmul_(
// REST: func.call @winograd_fused_(
// LOOPS-LABEL: func.func private @conv2d_
// LOOPS: vector<7x2x16xf32>
// LOOPS-LABEL: func.func private @matmul_
// LOOPS: vector<6x3x16xf32>
// LOOPS-LABEL: func.func private @winograd_fused_
// LOOPS: vector<5x2x16xf32>
func.func @main(%x: tensor<1x16x14x14xf32>, %rows: tensor<20x8xf32>, %plane: tensor<1x64x28x28xf32>) -> (tensor<1x32x14x14xf32>, tensor<20x40xf32>, tensor<1x64x28x28xf32>) {
  %kernel = glow.splat 0.5 : tensor<32x16x3x3xf32>
  %direct = glow.conv2d %x, %kernel pads [1, 1, 1, 1] : tensor<1x32x14x14xf32>
  %matrix = glow.splat 0.5 : tensor<8x40xf32>
  %product = glow.matmul %rows, %matrix : tensor<20x40xf32>
  %square = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %fast = glow.conv2d %plane, %square pads [1, 1, 1, 1] : tensor<1x64x28x28xf32>
  func.return %direct, %product, %fast : tensor<1x32x14x14xf32>, tensor<20x40xf32>, tensor<1x64x28x28xf32>
}
