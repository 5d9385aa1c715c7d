// REQUIRES: mlir-opt
// RUN: glow-opt --quantize %s -o %t.graph.mlir
// RUN: glow-opt --mlir-print-op-generic %t.graph.mlir | MLIR_OPT --allow-unregistered-dialect | filecheck %s --check-prefix=GRAPH
// RUN: glow compile --emit=loops %t.graph.mlir -o %t.loops.mlir
// RUN: MLIR_OPT %t.loops.mlir | filecheck %s --check-prefix=LOOPS
// RUN: glow-opt %t.loops.mlir | filecheck %s --check-prefix=LOOPS

// Unsigned bytes are bytes without a sign in loops, wherever they are moved.
// GRAPH: !quant.uniform<u8:f32

// LOOPS-NOT: ui8
// LOOPS:     func.func private @pack
// LOOPS-NOT: ui8
// LOOPS:     func.func @main(
// LOOPS-NOT: ui8
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = glow.splat 0.1 : tensor<4x3x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x4x8x8xf32>
  %z = glow.sigmoid %y : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}
