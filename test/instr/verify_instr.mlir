// RUN: glow-opt --verify-instr %s | filecheck %s

// A program with a loop, views and an element-wise instruction in place.
// CHECK-LABEL: func.func @main
func.func @main(%x: memref<3x4xf32>, %y: memref<4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %w = instr.weight dense<0.5> : tensor<4xf32> : memref<4xf32>
  %a = instr.alloc : memref<4xf32>
  instr.copy @out %a, @in %w
  scf.for %i = %first to %end step %step {
    %last = arith.subi %end, %i : index
    %row = instr.dynamic_view %x, %i : memref<4xf32>
    instr.add @out %a, @in %a, @in %row
  }
  instr.exp @out %y, @in %a
  instr.dealloc %a
  func.return
}

// With a memory plan, lives may end with the function.
// CHECK-LABEL: func.func @planned
func.func @planned(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc offset 64 : memref<4xf32>
  instr.exp @out %a, @in %x
  instr.exp @out %y, @in %a
  func.return
}

// Buffers share bytes when they are not alive together: %c has those of %a, whose life has
// ended, and lies between %b and the end of the arena.
// CHECK-LABEL: func.func @proven
func.func @proven(%x: memref<16xf32>, %y: memref<16xf32>) attributes {glow.input_names = ["x"], glow.output_names = ["y"], glow.input_count = 1 : i64, glow.arena_bytes = 192 : i64, glow.live_bytes = 128 : i64} {
  %a = instr.alloc offset 128 : memref<16xf32>
  instr.exp @out %a, @in %x
  %b = instr.alloc offset 0 : memref<16xf32>
  instr.exp @out %b, @in %a
  instr.dealloc %a
  %c = instr.alloc offset 64 : memref<17xi8>
  instr.dealloc %c
  %d = instr.alloc offset 128 : memref<16xf32>
  instr.exp @out %d, @in %b
  instr.dealloc %b
  instr.exp @out %y, @in %d
  instr.dealloc %d
  func.return
}
