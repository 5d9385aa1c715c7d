// RUN: glow-opt --split-input-file --eliminate-copies %s | filecheck %s

// An argument copied to a result stays a copy.
// CHECK-LABEL: func.func @arguments
// CHECK-NEXT:    instr.copy @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @arguments(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.copy @out %y, @in %x
  func.return
}

// -----

// The source changes while the copy is read.
// CHECK-LABEL: func.func @changes
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %b, @in %a
// CHECK-NEXT:    instr.exp @out %a, @in %b
// CHECK-NEXT:    instr.add @out %y, @in %a, @in %b
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @changes(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<4xf32>
  instr.copy @out %b, @in %a
  instr.exp @out %a, @in %b
  instr.add @out %y, @in %a, @in %b
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// The old content of the target is still needed.
// CHECK-LABEL: func.func @needed
// CHECK-NEXT:    %c = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %c, @in %x
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    instr.neg @out %y, @in %c
// CHECK-NEXT:    instr.copy @out %c, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.add @out %y, @in %c, @in %x
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @needed(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c = instr.alloc : memref<4xf32>
  instr.relu @out %c, @in %x
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.neg @out %y, @in %c
  instr.copy @out %c, @in %a
  instr.dealloc %a
  instr.add @out %y, @in %c, @in %x
  instr.dealloc %c
  func.return
}
