// RUN: glow-opt --simplify-instr %s | filecheck %s

// A view that changes nothing, a copy to itself, and what moves equal numbers.
// CHECK:         func.func @main
// CHECK-NEXT:    %a = instr.alloc : memref<4x2xf32>
// CHECK-NEXT:    instr.splat @out %a value 2.000000e+00 : f32
// CHECK-NEXT:    instr.splat @out %y value 2.000000e+00 : f32
// CHECK-NEXT:    instr.splat @out %z value 2.000000e+00 : f32
// CHECK-NEXT:    instr.relu @out %z, @in %a
// CHECK-NEXT:    instr.dealloc %a
// CHECK-NEXT:    func.return
func.func @main(%y: memref<2x4xf32>, %z: memref<4x2xf32>) {
  %a = instr.alloc : memref<4x2xf32>
  instr.splat @out %a value 2.0 : f32
  instr.transpose @out %y, @in %a permutation [1, 0]
  instr.copy @out %z, @in %a
  instr.copy @out %z, @in %z
  %v = instr.tensorview %a : memref<4x2xf32>
  instr.relu @out %z, @in %v
  instr.dealloc %a
  func.return
}

// What is written twice, or later, stays a copy.
// CHECK:         func.func @negative
// CHECK:         instr.copy @out %y, @in %a
// CHECK:         instr.copy @out %y, @in %b
func.func @negative(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = instr.alloc : memref<4xf32>
  instr.splat @out %a value 2.0 : f32
  instr.exp @out %a, @in %x
  instr.copy @out %y, @in %a
  instr.dealloc %a
  %b = instr.alloc : memref<4xf32>
  %v = instr.tensorview %b : memref<2xf32>
  instr.splat @out %v value 2.0 : f32
  instr.copy @out %y, @in %b
  instr.dealloc %b
  func.return
}
