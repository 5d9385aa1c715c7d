// RUN: glow-opt --split-input-file --stack-data-parallel %s | filecheck %s

// An instruction alone stays what it is.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    instr.relu @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @alone(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.relu @out %y, @in %x
  func.return
}

// -----

// The consumer reads its neighbours' elements: the producer broadcasts.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    instr.add @out %y, @in %z, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @broadcast(%x: memref<4xf32>, %z: memref<2x4xf32>, %y: memref<2x4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  instr.add @out %y, @in %z, @in %a
  instr.dealloc %a
  func.return
}

// -----

// The matrix product reads what the first writes, and the second needs the product.
// CHECK-LABEL: func.func @between
// CHECK-NEXT:    %a = instr.alloc : memref<4x4xf32>
// CHECK-NEXT:    instr.relu @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc : memref<4x4xf32>
// CHECK-NEXT:    instr.matmul @out %b, @in %a, @in %x
// CHECK-NEXT:    instr.add @out %y, @in %a, @in %b
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @between(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  %a = instr.alloc : memref<4x4xf32>
  instr.relu @out %a, @in %x
  %b = instr.alloc : memref<4x4xf32>
  instr.matmul @out %b, @in %a, @in %x
  instr.add @out %y, @in %a, @in %b
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// The input changes in between, so the first cannot run later.
// CHECK-LABEL: func.func @overwritten
// CHECK-NEXT:    %a = instr.alloc : memref<4x4xf32>
// CHECK-NEXT:    instr.matmul @out %a, @in %x, @in %x
// CHECK-NEXT:    %b = instr.alloc : memref<4x4xf32>
// CHECK-NEXT:    instr.relu @out %b, @in %a
// CHECK-NEXT:    instr.matmul @out %a, @in %x, @in %b
// CHECK-NEXT:    instr.neg @out %y, @in %b
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.matmul @out %z, @in %a, @in %x
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @overwritten(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>) {
  %a = instr.alloc : memref<4x4xf32>
  instr.matmul @out %a, @in %x, @in %x
  %b = instr.alloc : memref<4x4xf32>
  instr.relu @out %b, @in %a
  instr.matmul @out %a, @in %x, @in %b
  instr.neg @out %y, @in %b
  instr.matmul @out %z, @in %a, @in %x
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// Halves of one buffer overlap the whole that the next one reads.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT:    %a = instr.alloc : memref<8xf32>
// CHECK-NEXT:    %v = instr.tensorview %a : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %v, @in %x
// CHECK-NEXT:    %w = instr.tensorview %a offset 4 : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %w, @in %x
// CHECK-NEXT:    instr.relu @out %y, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @halves(%x: memref<4xf32>, %y: memref<8xf32>) {
  %a = instr.alloc : memref<8xf32>
  %v = instr.tensorview %a : memref<4xf32>
  instr.exp @out %v, @in %x
  %w = instr.tensorview %a offset 4 : memref<4xf32>
  instr.copy @out %w, @in %x
  instr.relu @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// The buffer of the sum is read in the next step, so the stack still writes it.
// CHECK-LABEL: func.func @carried
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %a, @in %x
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.stacked @out %y, @out %a, @in %a {
// CHECK-NEXT:      ^bb0(%a_1: f32):
// CHECK-NEXT:        %0 = arith.negf %a_1 : f32
// CHECK-NEXT:        %1 = math.exp %0 : f32
// CHECK-NEXT:        glow.yield %0, %1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @carried(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  instr.copy @out %a, @in %x
  scf.for %i = %first to %end step %step {
    instr.neg @out %y, @in %a
    instr.exp @out %a, @in %y
  }
  instr.dealloc %a
  func.return
}
