// RUN: glow-opt --split-input-file --fill-outputs %s | filecheck %s

// The past goes nowhere but into the output: who calls writes it there.
// CHECK-LABEL: func.func @past
// CHECK-SAME: glow.filled = [array<i64: 0, 2, 0, 0, 0>]
// CHECK-NEXT:    %new = instr.alloc
// CHECK-NEXT:    instr.neg @out %new, @in %x
// CHECK-NEXT:    instr.insert @inout %all, @in %new offsets [0, 8, 0]
// CHECK-NEXT:    instr.dealloc %new
func.func @past(%past: memref<2x8x4xf32>, %x: memref<2x1x4xf32>, %all: memref<2x9x4xf32>) attributes {glow.input_count = 2 : i64} {
  %new = instr.alloc : memref<2x1x4xf32>
  instr.neg @out %new, @in %x
  instr.insert @inout %all, @in %past offsets [0, 0, 0]
  instr.insert @inout %all, @in %new offsets [0, 8, 0]
  instr.dealloc %new
  func.return
}

// -----

// All of an output; the order of what overlaps stays.
// CHECK-LABEL: func.func @both
// CHECK-SAME: glow.filled = [array<i64: 1, 3, 0>, array<i64: 2, 3, 1>]
// CHECK-NEXT:    instr.insert @inout %y, @in %a offsets [0]
// CHECK-NEXT:    func.return
func.func @both(%a: memref<1xf32>, %b: memref<2xf32>, %c: memref<2xf32>, %y: memref<3xf32>) attributes {glow.input_count = 3 : i64} {
  instr.insert @inout %y, @in %b offsets [0]
  instr.insert @inout %y, @in %c offsets [1]
  instr.insert @inout %y, @in %a offsets [0]
  func.return
}

// -----

// A single head is a run of the output, whose other part is written before.
// CHECK-LABEL: func.func @run
// CHECK-SAME: glow.filled = [array<i64: 0, 2, 0, 1, 0>]
// CHECK-NEXT:    %v = instr.tensorview %y : memref<1x1x4xf32>
// CHECK-NEXT:    instr.neg @out %v, @in %x
// CHECK-NEXT:    %w = instr.tensorview %y offset 4
// CHECK-NEXT:    func.return
func.func @run(%a: memref<1x8x4xf32>, %x: memref<1x1x4xf32>, %y: memref<1x9x4xf32>) attributes {glow.input_count = 2 : i64} {
  %v = instr.tensorview %y : memref<1x1x4xf32>
  instr.neg @out %v, @in %x
  %w = instr.tensorview %y offset 4 : memref<1x8x4xf32>
  instr.copy @out %w, @in %a
  func.return
}
