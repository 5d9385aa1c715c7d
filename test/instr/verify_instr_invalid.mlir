// RUN: glow-opt --split-input-file --verify-diagnostics --verify-instr %s

// expected-error @below {{arguments must be memrefs, not tensor<4xf32>}}
func.func @tensor(%x: tensor<4xf32>) {
  func.return
}

// -----

// expected-error @below {{results must be @out arguments}}
func.func @results(%x: memref<4xf32>) -> memref<4xf32> {
  func.return %x : memref<4xf32>
}

// -----

func.func @node(%x: memref<4xf32>) {
  // expected-error @below {{glow.splat: does not belong to the instruction level}}
  %0 = glow.splat 0.0 : tensor<4xf32>
  func.return
}

// -----

func.func @scalar(%x: memref<4xf32>) {
  // expected-error @below {{only index arithmetic may stand between instructions}}
  %0 = arith.constant 1.0 : f32
  func.return
}

// -----

func.func @carried(%x: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  // expected-error @below {{a loop carries its values in buffers, not as iter_args}}
  %0 = scf.for %i = %first to %end step %end iter_args(%j = %first) -> (index) {
    scf.yield %j : index
  }
  func.return
}

// -----

func.func @leak(%x: memref<4xf32>) {
  // expected-error @below {{instr.alloc: needs an instr.dealloc, or a place in the arena}}
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  func.return
}

// -----

func.func @twice(%x: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.dealloc %a
  // expected-error @+1 {{ends the life of a buffer that has ended already}}
  instr.dealloc %a
  func.return
}

// -----

func.func @view_freed(%x: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  %v = instr.tensorview %a : memref<2x2xf32>
  // expected-error @below {{ends a life that no instr.alloc of its block has started}}
  instr.dealloc %v
  instr.dealloc %a
  func.return
}

// -----

func.func @after(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  %v = instr.tensorview %a : memref<4xf32>
  instr.dealloc %a
  // expected-error @below {{instr.exp: uses a buffer after its dealloc}}
  instr.exp @out %y, @in %v
  func.return
}

// -----

func.func @unwritten(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  // expected-error @below {{instr.exp: reads a buffer that nothing has written}}
  instr.exp @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

func.func @weight(%x: memref<4xf32>) {
  %w = instr.weight dense<0.0> : tensor<4xf32> : memref<4xf32>
  // expected-error @below {{writes a weight}}
  instr.exp @out %w, @in %x
  func.return
}

// -----

func.func @alias(%x: memref<4xf32>) {
  // expected-error @below {{instr.softmax: reads bytes that it overwrites}}
  instr.softmax @out %x, @in %x axis 0
  func.return
}

// -----

func.func @same(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{instr.stacked: writes the same bytes twice}}
  instr.stacked @out %y, @out %y, @in %x {
  ^bb0(%e: f32):
    glow.yield %e, %e
  }
  func.return
}
