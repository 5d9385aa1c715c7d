// RUN: glow-opt --split-input-file --verify-diagnostics --instr-to-loops %s

// expected-error @+1 {{allocations have no place yet; run plan-memory first}}
func.func @main(%x: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  instr.dealloc %a
  func.return
}

// -----

// The plan of text is proven, as that of the compiler is.
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc offset 0 : memref<4xf32>
  instr.exp @out %a, @in %x
  // expected-error @below {{instr.alloc: takes bytes [0, 64) of the arena, of which the buffer of operation 1, still alive, has [0, 64)}}
  %b = instr.alloc offset 0 : memref<4xf32>
  instr.exp @out %b, @in %x
  instr.add @out %y, @in %a, @in %b
  func.return
}

// -----

func.func @main(%y: memref<2x!quant.uniform<i8:f32, 0.5>>) attributes {glow.arena_bytes = 0 : i64} {
  %w = instr.weight dense<[1, 2]> : tensor<2xi8> : memref<2x!quant.uniform<i8:f32, 0.5>>
  // expected-error @below {{the cpu backend computes copy of plain integers, not quantized ones}}
  instr.copy @out %y, @in %w
  func.return
}
