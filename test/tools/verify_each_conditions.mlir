// What passes require of a module is checked by --verify-each: here the graph level.
// RUN: not glow-opt --sink-reshapes --verify-each %s 2>&1 | filecheck %s

// CHECK: error: before sink-reshapes: not the graph level: instr.alloc is none of glow, func, builtin, scf, tensor, quant, arith, math
func.func @main() {
  %0 = instr.alloc : memref<4xf32>
  instr.dealloc %0
  func.return
}
