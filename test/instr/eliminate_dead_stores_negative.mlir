// RUN: glow-opt --split-input-file --eliminate-dead-stores %s | filecheck %s

// Arguments are results: they are read by the caller.
// CHECK-LABEL: func.func @result
// CHECK-NEXT:    instr.exp @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @result(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.exp @out %y, @in %x
  func.return
}

// -----

// The insert writes a part, so the rest of the first store is still needed.
// CHECK-LABEL: func.func @partial
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    instr.insert @inout %a, @in %z offsets [1]
// CHECK-NEXT:    instr.neg @out %y, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @partial(%x: memref<4xf32>, %z: memref<2xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.insert @inout %a, @in %z offsets [1]
  instr.neg @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// One of two results is read.
// CHECK-LABEL: func.func @two
// CHECK-NEXT:    %a = instr.alloc : memref<4xf32>
// CHECK-NEXT:    %b = instr.alloc : memref<4xf32>
// CHECK-NEXT:    instr.stacked @out %a, @out %b, @in %x {
// CHECK-NEXT:    ^bb0(%e: f32):
// CHECK-NEXT:      %n = arith.negf %e : f32
// CHECK-NEXT:      glow.yield %e, %n
// CHECK-NEXT:    }
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.exp @out %y, @in %b
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @two(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  %b = instr.alloc : memref<4xf32>
  instr.stacked @out %a, @out %b, @in %x {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    glow.yield %e, %n
  }
  instr.exp @out %y, @in %b
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// Functions of the level loops stay as they are, and take numbers.
// CHECK-LABEL: func.func @loops
// CHECK: memref.store %z, %x[%n] : memref<4xf32>
func.func @loops(%x: memref<4xf32>, %n: index, %z: f32) {
  memref.store %z, %x[%n] : memref<4xf32>
  func.return
}
