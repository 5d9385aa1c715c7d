// RUN: glow-opt --split-input-file --share-buffers %s | filecheck %s

// The operand is read later.
// CHECK-LABEL: func.func @alive
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %b, @in %a
// CHECK-NEXT:    instr.softmax @out %y, @in %b axis 0
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.softmax @out %z, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @alive(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.softmax @out %a, @in %x axis 0
  %b = instr.alloc : memref<4xf32>
  instr.relu @out %b, @in %a
  instr.softmax @out %y, @in %b axis 0
  instr.dealloc %b
  instr.softmax @out %z, @in %a axis 0
  instr.dealloc %a
  func.return
}

// -----

// Not an element-wise instruction: it reads its input after it has written.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.softmax @out %b, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.relu @out %y, @in %b
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @softmax(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  %b = instr.alloc : memref<4xf32>
  instr.softmax @out %b, @in %a axis 0
  instr.dealloc %a
  instr.relu @out %y, @in %b
  instr.dealloc %b
  func.return
}

// -----

// The operand broadcasts, or has another type.
// CHECK-LABEL: func.func @types
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc : memref<2x4xf32>
// CHECK-NEXT:    instr.add @out %b, @in %z, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    %c = instr.alloc : memref<2x4xi1>
// CHECK-NEXT:    instr.less @out %c, @in %b, @in %z
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.not @out %y, @in %c
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @types(%x: memref<4xf32>, %z: memref<2x4xf32>, %y: memref<2x4xi1>) {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  %b = instr.alloc : memref<2x4xf32>
  instr.add @out %b, @in %z, @in %a
  instr.dealloc %a
  %c = instr.alloc : memref<2x4xi1>
  instr.less @out %c, @in %b, @in %z
  instr.dealloc %b
  instr.not @out %y, @in %c
  instr.dealloc %c
  func.return
}

// -----

// Another operand is a different part of the same buffer.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:    %v = instr.tensorview %a : memref<1xf32>
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.sub @out %b, @in %a, @in %v
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.softmax @out %y, @in %b axis 0
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @parts(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.softmax @out %a, @in %x axis 0
  %v = instr.tensorview %a : memref<1xf32>
  %b = instr.alloc : memref<4xf32>
  instr.sub @out %b, @in %a, @in %v
  instr.dealloc %a
  instr.softmax @out %y, @in %b axis 0
  instr.dealloc %b
  func.return
}

// -----

// The buffer carries a value into the next step.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %a, @in %x
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.relu @out %b, @in %a
// CHECK-NEXT:      instr.softmax @out %y, @in %b axis 0
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  %b = instr.alloc : memref<4xf32>
  instr.copy @out %a, @in %x
  scf.for %i = %first to %end step %step {
    instr.relu @out %b, @in %a
    instr.softmax @out %y, @in %b axis 0
  }
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// The operand is read again after the loop.
// CHECK-LABEL: func.func @after_loop
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:      instr.relu @out %b, @in %a
// CHECK-NEXT:      instr.softmax @out %y, @in %b axis 0
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.softmax @out %z, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @after_loop(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  %b = instr.alloc : memref<4xf32>
  scf.for %i = %first to %end step %step {
    instr.softmax @out %a, @in %x axis 0
    instr.relu @out %b, @in %a
    instr.softmax @out %y, @in %b axis 0
  }
  instr.softmax @out %z, @in %a axis 0
  instr.dealloc %a
  instr.dealloc %b
  func.return
}
