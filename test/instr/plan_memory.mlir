// RUN: glow-opt --split-input-file --plan-memory %s | filecheck %s

// Buffers that are never alive together share their place.
// CHECK-LABEL: func.func @chain(%x: memref<16xf32>, %y: memref<16xf32>) attributes {glow.arena_bytes = 128 : i64, glow.live_bytes = 128 : i64} {
// CHECK-NEXT:    %a = instr.alloc offset 0 : memref<16xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc offset 64 : memref<16xf32>
// CHECK-NEXT:    instr.exp @out %b, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    %c = instr.alloc offset 0 : memref<16xf32>
// CHECK-NEXT:    instr.exp @out %c, @in %b
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.exp @out %y, @in %c
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @chain(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = instr.alloc : memref<16xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<16xf32>
  instr.exp @out %b, @in %a
  instr.dealloc %a
  %c = instr.alloc : memref<16xf32>
  instr.exp @out %c, @in %b
  instr.dealloc %b
  instr.exp @out %y, @in %c
  instr.dealloc %c
  func.return
}

// -----

// Sizes are rounded up to whole cache lines.
// CHECK-LABEL: func.func @aligned(%x: memref<17xf32>, %y: memref<17xf32>) attributes {glow.arena_bytes = 256 : i64, glow.live_bytes = 256 : i64} {
// CHECK-NEXT:    %a = instr.alloc offset 0 : memref<17xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc offset 128 : memref<17xf32>
// CHECK-NEXT:    instr.exp @out %b, @in %a
// CHECK-NEXT:    instr.add @out %y, @in %a, @in %b
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @aligned(%x: memref<17xf32>, %y: memref<17xf32>) {
  %a = instr.alloc : memref<17xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<17xf32>
  instr.exp @out %b, @in %a
  instr.add @out %y, @in %a, @in %b
  instr.dealloc %a
  instr.dealloc %b
  func.return
}

// -----

// The largest first: in order of time %c would not fit below %b.
// CHECK-LABEL: func.func @gap(%x: memref<16xf32>, %y: memref<32xf32>) attributes {glow.arena_bytes = 192 : i64, glow.live_bytes = 192 : i64} {
// CHECK-NEXT:    %a = instr.alloc offset 0 : memref<16xf32>
// CHECK-NEXT:    instr.exp @out %a, @in %x
// CHECK-NEXT:    %b = instr.alloc offset 128 : memref<16xf32>
// CHECK-NEXT:    instr.exp @out %b, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    %c = instr.alloc offset 0 : memref<32xf32>
// CHECK-NEXT:    instr.tile @out %c, @in %b repeats [2]
// CHECK-NEXT:    instr.dealloc %b
// CHECK-NEXT:    instr.exp @out %y, @in %c
// CHECK-NEXT:    instr.dealloc %c
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @gap(%x: memref<16xf32>, %y: memref<32xf32>) {
  %a = instr.alloc : memref<16xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc : memref<16xf32>
  instr.exp @out %b, @in %a
  instr.dealloc %a
  %c = instr.alloc : memref<32xf32>
  instr.tile @out %c, @in %b repeats [2]
  instr.dealloc %b
  instr.exp @out %y, @in %c
  instr.dealloc %c
  func.return
}

// -----

// No allocation, no arena.
// CHECK-LABEL: func.func @nothing(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.arena_bytes = 0 : i64, glow.live_bytes = 0 : i64} {
// CHECK-NEXT:    instr.exp @out %y, @in %x
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @nothing(%x: memref<4xf32>, %y: memref<4xf32>) {
  instr.exp @out %y, @in %x
  func.return
}

// -----

// What a loop allocates for itself has a place too.
// CHECK-LABEL: func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.arena_bytes = 128 : i64, glow.live_bytes = 128 : i64} {
// CHECK:         %a = instr.alloc offset 0 : memref<4xf32>
// CHECK:           %b = instr.alloc offset 64 : memref<4xf32>
// CHECK:           instr.dealloc %b
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = instr.alloc : memref<4xf32>
  instr.exp @out %a, @in %x
  scf.for %i = %zero to %one step %one {
    %b = instr.alloc : memref<4xf32>
    instr.exp @out %b, @in %a
    instr.exp @out %y, @in %b
    instr.dealloc %b
    scf.yield
  }
  instr.dealloc %a
  func.return
}
