// RUN: glow-opt --split-input-file --stack-data-parallel %s | filecheck %s

// A producer hands its element to the consumer; the buffer between them vanishes.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    instr.stacked @out %y, @in %x, @in %r {
// CHECK-NEXT:    ^bb0(%x_1: f32, %r_1: f32):
// CHECK-NEXT:      %0 = arith.addf %x_1, %r_1 : f32
// CHECK-NEXT:      %1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %2 = arith.maximumf %0, %1 : f32
// CHECK-NEXT:      glow.yield %2
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @chain(%x: memref<2x4xf32>, %r: memref<4xf32>, %y: memref<2x4xf32>) {
  %a = instr.alloc : memref<2x4xf32>
  instr.add @out %a, @in %x, @in %r
  instr.relu @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// What others read too is a second result of the stack.
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT:    %a = instr.alloc : memref<4x4xf32>
// CHECK-NEXT:    instr.stacked @out %a, @out %y, @in %x {
// CHECK-NEXT:    ^bb0(%x_1: f32):
// CHECK-NEXT:      %0 = math.absf %x_1 : f32
// CHECK-NEXT:      %1 = arith.negf %0 : f32
// CHECK-NEXT:      glow.yield %0, %1
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.matmul @out %z, @in %a, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @two_results(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>) {
  %a = instr.alloc : memref<4x4xf32>
  instr.abs @out %a, @in %x
  instr.neg @out %y, @in %a
  instr.matmul @out %z, @in %a, @in %a
  instr.dealloc %a
  func.return
}

// -----

// A filled buffer is a constant, whatever its shape; so is a weight of one number.
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:    instr.stacked @out %y, @in %x {
// CHECK-NEXT:    ^bb0(%x_1: f32):
// CHECK-NEXT:      %0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:      %1 = arith.mulf %x_1, %0 : f32
// CHECK-NEXT:      %2 = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:      %3 = arith.addf %1, %2 : f32
// CHECK-NEXT:      glow.yield %3
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @numbers(%x: memref<4xf32>, %y: memref<4xf32>) {
  %s = instr.alloc : memref<1xf32>
  instr.splat @out %s value 0.5 : f32
  %w = instr.weight dense<2.0> : tensor<1xf32> : memref<1xf32>
  %a = instr.alloc : memref<4xf32>
  instr.mul @out %a, @in %x, @in %s
  instr.dealloc %s
  instr.add @out %y, @in %a, @in %w
  instr.dealloc %a
  func.return
}

// -----

// Members need not be adjacent, and a stack may grow.
// CHECK-LABEL: func.func @apart
// CHECK-NEXT:    instr.matmul @out %z, @in %x, @in %x
// CHECK-NEXT:    instr.stacked @out %y, @in %x {
// CHECK-NEXT:    ^bb0(%x_1: f32):
// CHECK-NEXT:      %n = math.absf %x_1 : f32
// CHECK-NEXT:      %0 = arith.negf %n : f32
// CHECK-NEXT:      glow.yield %0
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @apart(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>) {
  %a = instr.alloc : memref<4x4xf32>
  instr.stacked @out %a, @in %x {
  ^bb0(%e: f32):
    %n = math.absf %e : f32
    glow.yield %n
  }
  instr.matmul @out %z, @in %x, @in %x
  instr.neg @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// The same elements in another shape are seen through a view.
// CHECK-LABEL: func.func @reshape
// CHECK-NEXT:    %y_1 = instr.tensorview %y : memref<2x4xf32>
// CHECK-NEXT:    instr.stacked @out %y_1, @in %x, @in %r {
// CHECK-NEXT:    ^bb0(%x_1: f32, %r_1: f32):
// CHECK-NEXT:      %0 = arith.addf %x_1, %r_1 : f32
// CHECK-NEXT:      %1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %2 = arith.maximumf %0, %1 : f32
// CHECK-NEXT:      glow.yield %2
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @reshape(%x: memref<2x4xf32>, %r: memref<4xf32>, %y: memref<8xf32>) {
  %a = instr.alloc : memref<2x4xf32>
  instr.add @out %a, @in %x, @in %r
  %v = instr.tensorview %a : memref<8xf32>
  instr.relu @out %y, @in %v
  instr.dealloc %a
  func.return
}

// -----

// In a loop: the carried buffer is read and written, its copy to the row of %y as well.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %state = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.copy @out %state, @in %h
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      %out = instr.dynamic_view %y, %i : memref<4xf32>
// CHECK-NEXT:      %row = instr.dynamic_view %x, %i : memref<4xf32>
// CHECK-NEXT:      instr.stacked @out %state, @out %out, @in %row, @in %state {
// CHECK-NEXT:      ^bb0(%row_1: f32, %state_1: f32):
// CHECK-NEXT:        %0 = arith.addf %row_1, %state_1 : f32
// CHECK-NEXT:        %1 = math.tanh %0 : f32
// CHECK-NEXT:        glow.yield %1, %1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %state
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%h: memref<4xf32>, %x: memref<3x4xf32>, %y: memref<3x4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %state = instr.alloc : memref<4xf32>
  %sum = instr.alloc : memref<4xf32>
  instr.copy @out %state, @in %h
  scf.for %i = %first to %end step %step {
    %row = instr.dynamic_view %x, %i : memref<4xf32>
    instr.add @out %sum, @in %row, @in %state
    instr.tanh @out %state, @in %sum
    %out = instr.dynamic_view %y, %i : memref<4xf32>
    instr.copy @out %out, @in %state
  }
  instr.dealloc %state
  instr.dealloc %sum
  func.return
}

// -----

// Two that read the same buffer run as one loop.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    instr.stacked @out %y, @out %z, @in %x {
// CHECK-NEXT:    ^bb0(%x_1: f32):
// CHECK-NEXT:      %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %1 = arith.maximumf %x_1, %0 : f32
// CHECK-NEXT:      %2 = arith.negf %x_1 : f32
// CHECK-NEXT:      glow.yield %1, %2
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @shared(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  instr.relu @out %y, @in %x
  instr.neg @out %z, @in %x
  func.return
}

// -----

// A filled buffer may be the result too.
// CHECK-LABEL: func.func @number_in_place
// CHECK-NEXT:    instr.stacked @out %y, @in %x {
// CHECK-NEXT:    ^bb0(%x_1: f32):
// CHECK-NEXT:      %0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:      %1 = arith.mulf %x_1, %0 : f32
// CHECK-NEXT:      glow.yield %1
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @number_in_place(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.splat @out %y value 0.5 : f32
  instr.mul @out %y, @in %x, @in %y
  func.return
}

// -----

// Buffers that vanish are no streams: however many there are, the chain is one loop.
// CHECK-LABEL: func.func @long_chain
// CHECK-NEXT:    instr.stacked @out %y, @in %x {
// CHECK-COUNT-16:  math.
// CHECK-NOT:     instr.
// CHECK:         func.return
func.func @long_chain(%x: memref<4xf32>, %y: memref<4xf32>) {
  %b0 = instr.alloc : memref<4xf32>
  instr.cos @out %b0, @in %x
  %b1 = instr.alloc : memref<4xf32>
  instr.sin @out %b1, @in %b0
  instr.dealloc %b0
  %b2 = instr.alloc : memref<4xf32>
  instr.exp @out %b2, @in %b1
  instr.dealloc %b1
  %b3 = instr.alloc : memref<4xf32>
  instr.tanh @out %b3, @in %b2
  instr.dealloc %b2
  %b4 = instr.alloc : memref<4xf32>
  instr.neg @out %b4, @in %b3
  instr.dealloc %b3
  %b5 = instr.alloc : memref<4xf32>
  instr.abs @out %b5, @in %b4
  instr.dealloc %b4
  %b6 = instr.alloc : memref<4xf32>
  instr.sqrt @out %b6, @in %b5
  instr.dealloc %b5
  %b7 = instr.alloc : memref<4xf32>
  instr.floor @out %b7, @in %b6
  instr.dealloc %b6
  %b8 = instr.alloc : memref<4xf32>
  instr.ceil @out %b8, @in %b7
  instr.dealloc %b7
  %b9 = instr.alloc : memref<4xf32>
  instr.exp @out %b9, @in %b8
  instr.dealloc %b8
  %b10 = instr.alloc : memref<4xf32>
  instr.cos @out %b10, @in %b9
  instr.dealloc %b9
  %b11 = instr.alloc : memref<4xf32>
  instr.sin @out %b11, @in %b10
  instr.dealloc %b10
  %b12 = instr.alloc : memref<4xf32>
  instr.exp @out %b12, @in %b11
  instr.dealloc %b11
  %b13 = instr.alloc : memref<4xf32>
  instr.tanh @out %b13, @in %b12
  instr.dealloc %b12
  %b14 = instr.alloc : memref<4xf32>
  instr.neg @out %b14, @in %b13
  instr.dealloc %b13
  %b15 = instr.alloc : memref<4xf32>
  instr.abs @out %b15, @in %b14
  instr.dealloc %b14
  %b16 = instr.alloc : memref<4xf32>
  instr.sqrt @out %b16, @in %b15
  instr.dealloc %b15
  instr.floor @out %y, @in %b16
  instr.dealloc %b16
  func.return
}
