// RUN: glow-opt --split-input-file --eliminate-dead-stores %s | filecheck %s

// What only dead instructions read is dead too; so are unused weights and views.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    instr.relu @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @chain(%x: memref<4xf32>, %y: memref<4xf32>) {
  %w = instr.weight dense<1.0> : tensor<4xf32> : memref<4xf32>
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<4xf32>
  instr.add @out %b, @in %a, @in %w
  %v = instr.tensorview %x : memref<2x2xf32>
  instr.dealloc %a
  instr.dealloc %b
  instr.relu @out %y, @in %x
  func.return
}

// -----

// A store that is overwritten before anybody reads it; the later one stays.
// CHECK-LABEL: func.func @overwritten
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    instr.neg @out %y, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @overwritten(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.relu @out %a, @in %x
  instr.neg @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// Only the half that is read has to be written.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT:    %a = instr.alloc : memref<8xf32>
// CHECK-NEXT:    %w = instr.tensorview %a offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %w, @in %x
// CHECK-NEXT:    instr.neg @out %y, @in %w
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @halves(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<8xf32>
  %v = instr.tensorview %a : memref<4xf32>
  instr.exp @out %v, @in %x
  %w = instr.tensorview %a offset 4 : memref<4xf32>
  instr.relu @out %w, @in %x
  instr.neg @out %y, @in %w
  instr.dealloc %a
  func.return
}

// -----

// In a loop the old value is read in the next step: nothing but %d is dead.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %a, @in %x
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.add @out %y, @in %a, @in %x
// CHECK-NEXT:      instr.relu @out %a, @in %y
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  %d = instr.alloc : memref<4xf32>
  instr.copy @out %a, @in %x
  scf.for %i = %first to %end step %step {
    instr.exp @out %d, @in %a
    instr.add @out %y, @in %a, @in %x
    instr.relu @out %a, @in %y
  }
  instr.dealloc %a
  instr.dealloc %d
  func.return
}

// -----

// A loop in which nothing is left goes too.
// CHECK-LABEL: func.func @empty_loop
// CHECK-NEXT:    instr.relu @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @empty_loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  scf.for %i = %first to %end step %step {
    instr.exp @out %a, @in %x
  }
  instr.dealloc %a
  instr.relu @out %y, @in %x
  func.return
}

// -----

// A result that is written again before the end.
// CHECK-LABEL: func.func @result
// CHECK-NEXT:    instr.relu @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @result(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.exp @out %y, @in %x
  instr.relu @out %y, @in %x
  func.return
}

// -----

// What a branch may overwrite is alive before it; a branch in which nothing is left goes.
// CHECK-LABEL: func.func @branches
// CHECK:         instr.copy @out %y, @in %x
// CHECK-NEXT:    %[[C:.*]] = memref.load %c[] : memref<i1>
// CHECK-NEXT:    scf.if %[[C]] {
// CHECK-NEXT:      instr.exp @out %y, @in %x
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @branches(%c: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32>) {
  instr.copy @out %y, @in %x
  %0 = memref.load %c[] : memref<i1>
  scf.if %0 {
    instr.exp @out %y, @in %x
  }
  %a = instr.alloc : memref<4xf32>
  scf.if %0 {
    instr.neg @out %a, @in %x
  }
  instr.dealloc %a
  func.return
}
