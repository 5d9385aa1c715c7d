// RUN: glow-opt --eliminate-dead-allocs %s | filecheck %s

// CHECK:         func.func @main
// CHECK-NEXT:    %used = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %used, @in %x
// CHECK-NEXT:    instr.dealloc %used
// CHECK-NEXT:    func.return
func.func @main(%x: memref<4xf32>) {
  %dead = instr.alloc : memref<4xf32>
  %used = instr.alloc : memref<4xf32>
  %v = instr.tensorview %dead : memref<2x2xf32>
  %w = instr.weight dense<0.0> : tensor<4xf32> : memref<4xf32>
  instr.exp @out %used, @in %x
  instr.dealloc %used
  instr.dealloc %dead
  func.return
}
