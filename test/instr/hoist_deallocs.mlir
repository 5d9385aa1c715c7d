// RUN: glow-opt --hoist-deallocs %s | filecheck %s

// CHECK:         instr.relu @out %b, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    %v = instr.tensorview %b : memref<2x2xf32>
// CHECK-NEXT:    instr.exp @out %y, @in %v
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.exp @out %y, @in %x
func.func @main(%x: memref<2x2xf32>, %y: memref<2x2xf32>) {
  %a = instr.alloc : memref<4xf32>
  %b = instr.alloc : memref<4xf32>
  %w = instr.tensorview %a : memref<2x2xf32>
  instr.exp @out %w, @in %x
  instr.relu @out %b, @in %a
  %v = instr.tensorview %b : memref<2x2xf32>
  instr.exp @out %y, @in %v
  instr.exp @out %y, @in %x
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// In a loop a buffer of the outside lives to the end of the loop.
// CHECK:         scf.for
// CHECK:         }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.exp
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  scf.for %i = %zero to %one step %one {
    instr.exp @out %y, @in %a
    scf.yield
  }
  instr.exp @out %y, @in %x
  instr.dealloc %a
  func.return
}
