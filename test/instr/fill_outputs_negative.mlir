// RUN: glow-opt --split-input-file --fill-outputs %s | filecheck %s

// Something else reads the past.
// CHECK-LABEL: func.func @read
// CHECK-SAME: attributes {glow.input_count = 1 : i64}
// CHECK-NEXT:    instr.insert @inout %all, @in %past offsets [0, 0, 0]
func.func @read(%past: memref<2x8x4xf32>, %all: memref<2x9x4xf32>, %y: memref<2x8x4xf32>) attributes {glow.input_count = 1 : i64} {
  instr.insert @inout %all, @in %past offsets [0, 0, 0]
  instr.neg @out %y, @in %past
  func.return
}

// -----

// The output is written before.
// CHECK-LABEL: func.func @written
// CHECK-SAME: attributes {glow.input_count = 1 : i64}
// CHECK-NEXT:    instr.splat @out %all
// CHECK-NEXT:    instr.insert @inout %all, @in %past offsets [0, 0, 0]
func.func @written(%past: memref<2x8x4xf32>, %all: memref<2x9x4xf32>) attributes {glow.input_count = 1 : i64} {
  instr.splat @out %all value 0.0 : f32
  instr.insert @inout %all, @in %past offsets [0, 0, 0]
  func.return
}

// -----

// What it is inserted into is no output.
// CHECK-LABEL: func.func @inside
// CHECK-NEXT:    %a = instr.alloc
// CHECK-NEXT:    instr.insert @inout %a, @in %past offsets [0, 0, 0]
func.func @inside(%past: memref<2x8x4xf32>, %y: memref<2x9x4xf32>) attributes {glow.input_count = 1 : i64} {
  %a = instr.alloc : memref<2x9x4xf32>
  instr.insert @inout %a, @in %past offsets [0, 0, 0]
  instr.neg @out %y, @in %a
  instr.dealloc %a
  func.return
}

// -----

// The part is no box of the output; the next one is written before.
// CHECK-LABEL: func.func @no_box
// CHECK-SAME: attributes {glow.input_count = 2 : i64}
// CHECK:         instr.copy @out %w, @in %a
// CHECK:         instr.copy @out %u, @in %b
func.func @no_box(%a: memref<2x2xf32>, %b: memref<1x2xf32>, %y: memref<2x3xf32>, %z: memref<2x2xf32>) attributes {glow.input_count = 2 : i64} {
  %w = instr.tensorview %y : memref<2x2xf32>
  instr.copy @out %w, @in %a
  instr.splat @out %z value 0.0 : f32
  %u = instr.tensorview %z offset 2 : memref<1x2xf32>
  instr.copy @out %u, @in %b
  func.return
}
