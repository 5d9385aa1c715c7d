// RUN: glow-opt --split-input-file --share-buffers %s | filecheck %s

// The operand dies, so the result takes its buffer.
// CHECK-LABEL: func.func @in_place
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:    instr.relu @out %a, @in %a
// CHECK-NEXT:    instr.softmax @out %y, @in %a axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @in_place(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.softmax @out %a, @in %x axis 0
  %b = instr.alloc : memref<4xf32>
  instr.relu @out %b, @in %a
  instr.dealloc %a
  instr.softmax @out %y, @in %b axis 0
  instr.dealloc %b
  func.return
}

// -----

// Each operand serves one result only.
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:    %c = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.stacked @out %a, @out %c, @in %a {
// CHECK-NEXT:    ^bb0(%e: f32):
// CHECK-NEXT:      %n = arith.negf %e : f32
// CHECK-NEXT:      glow.yield %e, %n
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.layer_norm @out %y, @in %a, @in %c axis 0
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @two_results(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.softmax @out %a, @in %x axis 0
  %b = instr.alloc : memref<4xf32>
  %c = instr.alloc : memref<4xf32>
  instr.stacked @out %b, @out %c, @in %a {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    glow.yield %e, %n
  }
  instr.dealloc %a
  instr.layer_norm @out %y, @in %b, @in %c axis 0
  instr.dealloc %b
  instr.dealloc %c
  func.return
}

// -----

// Buffers of one step of a loop share too.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %first = arith.constant 0 : index
// CHECK-NEXT:    %end = arith.constant 3 : index
// CHECK-NEXT:    %step = arith.constant 1 : index
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    scf.for %i = %first to %end step %step {
// CHECK-NEXT:      instr.softmax @out %a, @in %x axis 0
// CHECK-NEXT:      instr.relu @out %a, @in %a
// CHECK-NEXT:      instr.softmax @out %y, @in %a axis 0
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
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
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// A scatter updates its data in place, and nothing else.
// CHECK-LABEL: func.func @scatter(
// CHECK:      %0 = instr.alloc : memref<4x3xf32>
// CHECK-NEXT: instr.splat @out %0 value 0.000000e+00 : f32
// CHECK-NEXT: %i = instr.weight dense<[[3], [1], [1], [-4]]> : tensor<4x1xi64> : memref<4x1xi64>
// CHECK-NEXT: instr.scatter @out %0, @in %0, @in %i, @in %u coordinates [-1, 1] reduction "add"
// CHECK-NEXT: %1 = instr.alloc : memref<4x3xf32>
// CHECK-NEXT: instr.scatter @out %1, @in %u, @in %i, @in %0 coordinates [-1, 1]
func.func @scatter(%u: memref<4x3xf32>, %r: memref<4x3xf32>) attributes {glow.input_count = 1 : i64} {
  %0 = instr.alloc : memref<4x3xf32>
  instr.splat @out %0 value 0.000000e+00 : f32
  %i = instr.weight dense<[[3], [1], [1], [-4]]> : tensor<4x1xi64> : memref<4x1xi64>
  %1 = instr.alloc : memref<4x3xf32>
  instr.scatter @out %1, @in %0, @in %i, @in %u coordinates [-1, 1] reduction "add"
  instr.dealloc %0
  %2 = instr.alloc : memref<4x3xf32>
  instr.scatter @out %2, @in %u, @in %i, @in %1 coordinates [-1, 1]
  instr.dealloc %1
  instr.copy @out %r, @in %2
  instr.dealloc %2
  func.return
}
