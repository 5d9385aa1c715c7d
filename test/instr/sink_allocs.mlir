// RUN: glow-opt --sink-allocs %s | filecheck %s

// CHECK:         func.func @main
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    %w = instr.tensorview %a : memref<2xf32>
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    %v = instr.tensorview %b offset 2 : memref<2xf32>
// CHECK-NEXT:    instr.relu @out %v, @in %w
func.func @main(%x: memref<4xf32>, %y: memref<2xf32>) {
  %b = instr.alloc : memref<4xf32>
  %a = instr.alloc : memref<4xf32>
  %v = instr.tensorview %b offset 2 : memref<2xf32>
  %w = instr.tensorview %a : memref<2xf32>
  instr.exp @out %a, @in %x
  instr.relu @out %v, @in %w
  instr.exp @out %y, @in %v
  instr.dealloc %a
  instr.dealloc %b
  func.return
}
