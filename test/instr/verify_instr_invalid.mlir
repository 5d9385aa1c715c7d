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
  // expected-error @below {{values that regions give or carry are in buffers}}
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

// -----

func.func @overlap(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc offset 64 : memref<4xf32>
  instr.exp @out %a, @in %x
  // expected-error @below {{instr.alloc: takes bytes [0, 128) of the arena, of which the buffer of operation 1, still alive, has [64, 128)}}
  %b = instr.alloc offset 0 : memref<32xf32>
  instr.exp @out %y, @in %a
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// One position is enough: %a lives until after %b has begun.
func.func @last(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc offset 0 : memref<4xf32>
  instr.exp @out %a, @in %x
  // expected-error @below {{takes bytes [0, 64) of the arena}}
  %b = instr.alloc offset 0 : memref<4xf32>
  instr.dealloc %a
  instr.exp @out %b, @in %x
  instr.exp @out %y, @in %b
  instr.dealloc %b
  func.return
}

// -----

// What has no dealloc lives to the end; that of a loop's body as long as the body.
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %a = instr.alloc offset 128 : memref<4xf32>
  instr.exp @out %a, @in %x
  scf.for %i = %first to %end step %end {
    // expected-error @below {{takes bytes [64, 192) of the arena, of which the buffer of operation 3, still alive, has [128, 192)}}
    %b = instr.alloc offset 64 : memref<32xf32>
    instr.dealloc %b
  }
  instr.exp @out %y, @in %a
  func.return
}

// -----

func.func @beyond(%x: memref<4xf32>) attributes {glow.arena_bytes = 128 : i64} {
  // expected-error @below {{instr.alloc: ends at byte 192 of the arena, which has 128}}
  %a = instr.alloc offset 128 : memref<4xf32>
  instr.exp @out %a, @in %x
  func.return
}

// -----

// expected-error @below {{glow.live_bytes is 64, but 128 bytes are alive at once}}
func.func @live() attributes {glow.arena_bytes = 128 : i64, glow.live_bytes = 64 : i64} {
  %a = instr.alloc offset 0 : memref<4xf32>
  %b = instr.alloc offset 64 : memref<4xf32>
  func.return
}

// -----

// expected-error @below {{glow.arena_bytes must be a number of bytes, not "large"}}
func.func @size() attributes {glow.arena_bytes = "large"} {
  %a = instr.alloc offset 0 : memref<4xf32>
  func.return
}

// -----

func.func @some() {
  %a = instr.alloc offset 0 : memref<4xf32>
  // expected-error @below {{instr.alloc: has no place in the arena, which others have}}
  %b = instr.alloc : memref<4xf32>
  instr.dealloc %b
  func.return
}

// -----

func.func @none() attributes {glow.arena_bytes = 64 : i64} {
  // expected-error @below {{instr.alloc: has no place in the arena, which others have}}
  %a = instr.alloc : memref<4xf32>
  instr.dealloc %a
  func.return
}

// -----

// expected-error @below {{glow.input_count is 3 : i64 for 2 arguments}}
func.func @many(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 3 : i64} {
  instr.exp @out %y, @in %x
  func.return
}

// -----

// expected-error @below {{glow.input_count is "one" for 2 arguments}}
func.func @word(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = "one"} {
  instr.exp @out %y, @in %x
  func.return
}

// -----

// expected-error @below {{nothing writes argument 1, an output}}
func.func @few(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 0 : i64} {
  instr.exp @out %y, @in %x
  func.return
}

// -----

func.func @all(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 2 : i64} {
  // expected-error @below {{instr.exp: writes an input}}
  instr.exp @out %y, @in %x
  func.return
}

// -----

// expected-error @below {{glow.input_names has 2 names for 1}}
func.func @names(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 1 : i64, glow.input_names = ["x", "y"]} {
  instr.exp @out %y, @in %x
  func.return
}

// -----

// What one branch writes is not written for certain.
func.func @half(%c: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 2 : i64} {
  %a = instr.alloc : memref<4xf32>
  %0 = memref.load %c[] : memref<i1>
  scf.if %0 {
    instr.copy @out %a, @in %x
  } else {
  }
  // expected-error @below {{reads a buffer that nothing has written}}
  instr.copy @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

func.func @element(%c: memref<4xi1>, %y: memref<4xi1>) {
  %i = arith.constant 0 : index
  // expected-error @below {{reads conditions and numbers of iterations, which have no axes}}
  %0 = memref.load %c[%i] : memref<4xi1>
  scf.if %0 {
    instr.copy @out %y, @in %c
  }
  func.return
}
