// REQUIRES: mlir-opt
// RUN: glow-opt --mlir-print-op-generic %s | MLIR_OPT --allow-unregistered-dialect | filecheck %s --check-prefix=GRAPH
// RUN: glow compile --emit=instr %s -o %t.instr.mlir
// RUN: glow-opt --mlir-print-op-generic %t.instr.mlir | MLIR_OPT --allow-unregistered-dialect | filecheck %s --check-prefix=INSTR
// RUN: glow compile --emit=loops %s -o %t.loops.mlir
// RUN: MLIR_OPT %t.loops.mlir | filecheck %s --check-prefix=LOOPS
// RUN: glow-opt --verify-loops --loops-to-llvm %t.loops.mlir | MLIR_TRANSLATE --mlir-to-llvmir | filecheck %s --check-prefix=LLVM

// Upstream reads our own dialects as unregistered ones, and from the loops level on knows
// every operation and attribute.
// GRAPH:      "glow.conv2d"
// GRAPH-SAME: pads = array<i64: 1, 1, 1, 1>
// GRAPH:      "glow.softmax"

// INSTR: "instr.cpu.conv2d"
// INSTR: "instr.dealloc"

// LOOPS-NOT:   glow.weights
// LOOPS:       func.func private @glow_barrier(memref<64xi8>, index)
// LOOPS:       func.func private @conv2d
// LOOPS:       func.func private @softmax
// LOOPS:       func.func @main(
// LOOPS-SAME:  attributes {glow.activations_bytes = {{[0-9]+}} : i64, glow.arguments = array<i64: {{[0-9]+}}, {{[0-9]+}}>
// LOOPS:       call @glow_barrier

// LLVM: define void @main(ptr
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w = glow.splat 0.1 : tensor<16x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x16x8x8xf32>
  %1 = glow.softmax %0 axis 3 : tensor<1x16x8x8xf32>
  func.return %1 : tensor<1x16x8x8xf32>
}
