// RUN: glow-opt --split-input-file --verify-diagnostics --instr-to-loops %s

// expected-error @+1 {{allocations have no place yet; run plan-memory first}}
func.func @main(%x: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  func.return
}
