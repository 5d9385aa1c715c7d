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

// -----

// Pieces that are joined twice live in the larger concat; the smaller one is a run of it.
// CHECK-LABEL: func.func @joined_twice
// CHECK-NEXT:    %abx = instr.alloc : memref<12xf32>
// CHECK-NEXT:    %abx0 = instr.tensorview %abx : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %abx0, @in %x
// CHECK-NEXT:    %abx1 = instr.tensorview %abx offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %abx1, @in %x
// CHECK-NEXT:    %ab = instr.tensorview %abx : memref<8xf32>
// CHECK-NEXT:    instr.softmax @out %y, @in %ab axis 0
// CHECK-NEXT:    %abx2 = instr.tensorview %abx offset 8 : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %abx2, @in %x
// CHECK-NEXT:    instr.softmax @out %z, @in %abx axis 0
// CHECK-NEXT:    instr.dealloc %abx
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @joined_twice(%x: memref<4xf32>, %y: memref<8xf32>, %z: memref<12xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<4xf32>
  instr.relu @out %b, @in %x
  %ab = instr.alloc : memref<8xf32>
  %ab0 = instr.tensorview %ab : memref<4xf32>
  instr.copy @out %ab0, @in %a
  %ab1 = instr.tensorview %ab offset 4 : memref<4xf32>
  instr.copy @out %ab1, @in %b
  instr.softmax @out %y, @in %ab axis 0
  instr.dealloc %ab
  %abx = instr.alloc : memref<12xf32>
  %abx0 = instr.tensorview %abx : memref<4xf32>
  instr.copy @out %abx0, @in %a
  instr.dealloc %a
  %abx1 = instr.tensorview %abx offset 4 : memref<4xf32>
  instr.copy @out %abx1, @in %b
  instr.dealloc %b
  %abx2 = instr.tensorview %abx offset 8 : memref<4xf32>
  instr.copy @out %abx2, @in %x
  instr.softmax @out %z, @in %abx axis 0
  instr.dealloc %abx
  func.return
}

// -----

// In a loop the next value is written where the old one was.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %state = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %state, @in %x
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.softmax @out %y, @in %state axis 0
// CHECK-NEXT:      instr.exp @out %state, @in %y
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %state
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
    instr.softmax @out %y, @in %state axis 0
    instr.exp @out %next, @in %y
    instr.copy @out %state, @in %next
  }
  instr.dealloc %next
  instr.dealloc %state
  func.return
}

// -----

// A concat that is the last piece of another one, whose place is named behind what uses it.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT:    %c0 = instr.tensorview %y offset 48 : memref<1x1x1x8xf32>
// CHECK-NEXT:    %k0 = instr.tensorview %k : memref<1x1x1x8xf32>
// CHECK-NEXT:    instr.neg @out %c0, @in %k0
// CHECK-NEXT:    %c1 = instr.tensorview %y offset 56 : memref<1x1x1x8xf32>
// CHECK-NEXT:    instr.exp @out %c1, @in %k0
// CHECK-NEXT:    %y0 = instr.tensorview %y : memref<1x1x3x16xf32>
// CHECK-NEXT:    instr.copy @out %y0, @in %past
// CHECK-NEXT:    func.return
func.func @nested(%k: memref<1x1x1x2x8xf32>, %past: memref<1x1x3x16xf32>, %y: memref<1x1x4x16xf32>) attributes {glow.input_count = 2 : i64} {
  %a = instr.alloc : memref<1x1x1x8xf32>
  %k0 = instr.tensorview %k : memref<1x1x1x8xf32>
  instr.neg @out %a, @in %k0
  %b = instr.alloc : memref<1x1x1x8xf32>
  instr.exp @out %b, @in %k0
  %c = instr.alloc : memref<2x1x1x8xf32>
  %c0 = instr.tensorview %c : memref<1x1x1x8xf32>
  instr.copy @out %c0, @in %a
  instr.dealloc %a
  %c1 = instr.tensorview %c offset 8 : memref<1x1x1x8xf32>
  instr.copy @out %c1, @in %b
  instr.dealloc %b
  %d = instr.tensorview %c : memref<1x1x1x16xf32>
  %y0 = instr.tensorview %y : memref<1x1x3x16xf32>
  instr.copy @out %y0, @in %past
  %y1 = instr.tensorview %y offset 48 : memref<1x1x1x16xf32>
  instr.copy @out %y1, @in %d
  instr.dealloc %c
  func.return
}
