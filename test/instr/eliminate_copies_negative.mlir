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

// -----

// In a loop the old state is read after the new one is ready.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %state = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %state, @in %x
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %next = instr.alloc : memref<4xf32>
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.softmax @out %next, @in %x axis 0
// CHECK-NEXT:      instr.softmax @out %y, @in %state axis 0
// CHECK-NEXT:      instr.copy @out %state, @in %next
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %state
// CHECK-NEXT:    instr.dealloc %next
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %state = instr.alloc : memref<4xf32>
  instr.copy @out %state, @in %x
  %next = instr.alloc : memref<4xf32>
  scf.for %i = %first to %end step %step {
    instr.softmax @out %next, @in %x axis 0
    instr.softmax @out %y, @in %state axis 0
    instr.copy @out %state, @in %next
  }
  instr.dealloc %next
  instr.dealloc %state
  func.return
}

// -----

// The runs do not follow each other in the source.
// CHECK-LABEL: func.func @swapped
// CHECK-NEXT:    %a = instr.alloc : memref<8xf32>
// CHECK-NEXT:    %a0 = instr.tensorview %a : memref<4xf32>
// CHECK-NEXT:    %x1 = instr.tensorview %x offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %a0, @in %x1
// CHECK-NEXT:    %a1 = instr.tensorview %a offset 4 : memref<4xf32>
// CHECK-NEXT:    %x0 = instr.tensorview %x : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %a1, @in %x0
// CHECK-NEXT:    instr.softmax @out %y, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @swapped(%x: memref<8xf32>, %y: memref<8xf32>) {
  %a = instr.alloc : memref<8xf32>
  %a0 = instr.tensorview %a : memref<4xf32>
  %a1 = instr.tensorview %a offset 4 : memref<4xf32>
  %x0 = instr.tensorview %x : memref<4xf32>
  %x1 = instr.tensorview %x offset 4 : memref<4xf32>
  instr.copy @out %a0, @in %x1
  instr.copy @out %a1, @in %x0
  instr.softmax @out %y, @in %a axis 0
  instr.dealloc %a
  func.return
}

// -----

// The target gets other numbers while the source is still read.
// CHECK-LABEL: func.func @overwritten
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    instr.copy @out %y, @in %a
// CHECK-NEXT:    instr.softmax @out %y, @in %x axis 0
// CHECK-NEXT:    instr.softmax @out %z, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @overwritten(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.copy @out %y, @in %a
  instr.softmax @out %y, @in %x axis 0
  instr.softmax @out %z, @in %a axis 0
  instr.dealloc %a
  func.return
}

// -----

// Each step reads what the step before left in the source, not what it put in the target.
// CHECK-LABEL: func.func @step_before
// CHECK:         scf.for
// CHECK-NEXT:      instr.softmax @out %y, @in %a axis 0
// CHECK-NEXT:      instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:      instr.copy @out %s, @in %a
// CHECK-NEXT:      instr.relu @out %s, @in %x
// CHECK-NEXT:    }
func.func @step_before(%x: memref<4xf32>, %y: memref<4xf32>, %s: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  scf.for %i = %first to %end step %step {
    instr.softmax @out %y, @in %a axis 0
    instr.softmax @out %a, @in %x axis 0
    instr.copy @out %s, @in %a
    instr.relu @out %s, @in %x
  }
  instr.dealloc %a
  func.return
}

// -----

// Which row of the buffer gets the first one of the source is known in each step only.
// CHECK-LABEL: func.func @selected
// CHECK:         scf.for
// CHECK-NEXT:      %a = instr.alloc : memref<3x4xf32>
// CHECK-NEXT:      %row = instr.dynamic_view %a, %i : memref<4xf32>
// CHECK-NEXT:      %x0 = instr.tensorview %x : memref<4xf32>
// CHECK-NEXT:      instr.copy @out %row, @in %x0
// CHECK-NEXT:      %out = instr.dynamic_view %y, %i : memref<4xf32>
// CHECK-NEXT:      instr.softmax @out %out, @in %row axis 0
func.func @selected(%x: memref<3x4xf32>, %y: memref<3x4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  scf.for %i = %first to %end step %step {
    %a = instr.alloc : memref<3x4xf32>
    %row = instr.dynamic_view %a, %i : memref<4xf32>
    %x0 = instr.tensorview %x : memref<4xf32>
    instr.copy @out %row, @in %x0
    %out = instr.dynamic_view %y, %i : memref<4xf32>
    instr.softmax @out %out, @in %row axis 0
    instr.dealloc %a
  }
  func.return
}
