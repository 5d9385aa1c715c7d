// RUN: glow-opt --split-input-file --verify-diagnostics --plan-memory='limit=128' %s

func.func @twice() {
  %0 = instr.alloc : memref<4xi8>
  instr.dealloc %0
  // expected-error @below {{instr.dealloc: ends the life of a buffer that has ended already (operation 3 of @twice)}}
  instr.dealloc %0
  func.return
}

// -----

func.func @after(%y: memref<4xi8>) {
  %0 = instr.alloc : memref<4xi8>
  instr.dealloc %0
  // expected-error @below {{instr.copy: uses a buffer after its dealloc (operation 3 of @after)}}
  instr.copy @out %0, @in %y
  func.return
}

// -----

func.func @missing() {
  // expected-error @below {{instr.alloc: needs an instr.dealloc, or a place in the arena}}
  %0 = instr.alloc : memref<4xi8>
  func.return
}

// -----

func.func @argument(%x: memref<4xi8>) {
  // expected-error @below {{instr.dealloc: ends a life that no instr.alloc of its block has started}}
  instr.dealloc %x
  func.return
}

// -----

// expected-error @below {{the memory limit is 128 bytes, but @large needs 192: its peak is at instr.copy (operation 4 of @large), while 2 buffers of 192 bytes are alive}}
func.func @large(%x: memref<65xi8>) {
  %0 = instr.alloc : memref<65xi8>
  instr.copy @out %0, @in %x
  %1 = instr.alloc : memref<64xi8>
  instr.copy @out %x, @in %0
  instr.dealloc %1
  instr.dealloc %0
  func.return
}

// -----

// A limit that is just met.
func.func @fits(%x: memref<64xi8>) {
  %0 = instr.alloc : memref<64xi8>
  instr.copy @out %0, @in %x
  %1 = instr.alloc : memref<64xi8>
  instr.copy @out %1, @in %0
  instr.copy @out %x, @in %1
  instr.dealloc %1
  instr.dealloc %0
  func.return
}

// -----

// Buffers that have their places live to the end of the block.
// expected-error @below {{the memory limit is 128 bytes, but @planned needs 192: its peak is at instr.copy (operation 4 of @planned), while 2 buffers of 192 bytes are alive}}
func.func @planned(%x: memref<65xi8>) {
  %0 = instr.alloc offset 64 : memref<65xi8>
  instr.copy @out %0, @in %x
  %1 = instr.alloc offset 0 : memref<64xi8>
  instr.copy @out %x, @in %0
  func.return
}
