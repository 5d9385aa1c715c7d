// RUN: glow-opt --split-input-file --eliminate-copies %s | filecheck %s

// The pieces of a concat are written in place.
// CHECK-LABEL: func.func @concat
// CHECK-NEXT:    %c = instr.alloc : memref<8xf32>
// CHECK-NEXT:    %v = instr.tensorview %c : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %v, @in %x
// CHECK-NEXT:    %w = instr.tensorview %c offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %w, @in %x
// CHECK-NEXT:    instr.neg @out %y, @in %c
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @concat(%x: memref<4xf32>, %y: memref<8xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<4xf32>
  instr.relu @out %b, @in %x
  %c = instr.alloc : memref<8xf32>
  %v = instr.tensorview %c : memref<4xf32>
  instr.copy @out %v, @in %a
  instr.dealloc %a
  %w = instr.tensorview %c offset 4 : memref<4xf32>
  instr.copy @out %w, @in %b
  instr.dealloc %b
  instr.neg @out %y, @in %c
  instr.dealloc %c
  func.return
}

// -----

// The last instruction writes the result.
// CHECK-LABEL: func.func @result
// CHECK-NEXT:    instr.exp @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @result(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.copy @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// An argument is read where it is.
// CHECK-LABEL: func.func @source
// CHECK-NEXT:    instr.exp @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @source(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.copy @out %a, @in %x
  instr.exp @out %y, @in %a
  instr.dealloc %a
  func.return
}
