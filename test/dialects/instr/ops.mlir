// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @memory
func.func @memory(%x: memref<4x6xf32>, %i: index) {
  // CHECK: %a = instr.alloc : memref<2x3xf32>
  %a = instr.alloc : memref<2x3xf32>
  // CHECK-NEXT: %b = instr.alloc offset 128 : memref<1x64x112x112xf32>
  %b = instr.alloc offset 128 : memref<1x64x112x112xf32>
  // CHECK-NEXT: %s = instr.alloc : memref<f32>
  %s = instr.alloc : memref<f32>
  // CHECK-NEXT: %w = instr.weight @conv1_w : memref<64x3x7x7xf32>
  %w = instr.weight @conv1_w : memref<64x3x7x7xf32>
  // CHECK-NEXT: %c = instr.weight dense<[1, 2]> : tensor<2xi64> : memref<2xi64>
  %c = instr.weight dense<[1, 2]> : tensor<2xi64> : memref<2xi64>
  // CHECK-NEXT: %v = instr.tensorview %x offset 6 : memref<3x2xf32>
  %v = instr.tensorview %x offset 6 : memref<3x2xf32>
  // CHECK-NEXT: %whole = instr.tensorview %x : memref<24xf32>
  %whole = instr.tensorview %x offset 0 : memref<24xf32>
  // CHECK-NEXT: %row = instr.dynamic_view %x, %i : memref<6xf32>
  %row = instr.dynamic_view %x, %i : memref<6xf32>
  // CHECK-NEXT: instr.dealloc %a
  instr.dealloc %a
  // CHECK-NEXT: instr.dealloc %b {note = "last"}
  instr.dealloc %b {note = "last"}
  instr.dealloc %s
  func.return
}

// CHECK-LABEL: func.func @instructions
func.func @instructions(
    %x: memref<1x3x8x8xf32>, %w: memref<4x3x3x3xf32>, %b: memref<4xf32>,
    %y: memref<1x4x4x4xf32>, %z: memref<1x4x4x4xf32>, %m: memref<1x4x4x4xi1>) {
  // Attributes that have their default are not printed.
  // CHECK: instr.conv2d @out %y, @in %x, @in %w, @in %b strides [2, 2] pads [1, 1, 1, 1]
  instr.conv2d @out %y, @in %x, @in %w, @in %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]
  // CHECK-NEXT: instr.relu @out %z, @in %y
  instr.relu @out %z, @in %y
  // CHECK-NEXT: instr.add @out %z, @in %y, @in %z {note = 1 : i32}
  instr.add @out %z, @in %y, @in %z {note = 1 : i32}
  // CHECK-NEXT: instr.less @out %m, @in %y, @in %z
  instr.less @out %m, @in %y, @in %z
  // CHECK-NEXT: instr.clip @out %z, @in %y low 0.000000e+00 high 6.000000e+00
  instr.clip @out %z, @in %y low 0.000000e+00 high 6.000000e+00
  // CHECK-NEXT: instr.clip @out %z, @in %y low 0.000000e+00
  instr.clip @out %z, @in %y low 0.0 high inf
  // CHECK-NEXT: instr.copy @out %y, @in %z
  instr.copy @out %y, @in %z
  func.return
}

// CHECK-LABEL: func.func @own
func.func @own(%x: memref<4x6xf32>, %p: memref<2x3xf32>, %i: memref<2xi8>, %y: memref<4x6xf32>) {
  // CHECK: instr.splat @out %x value 5.000000e-01 : f32
  instr.splat @out %x value 0.5 : f32
  // CHECK-NEXT: instr.splat @out %i value 3 : i8
  instr.splat @out %i value 3 : i8
  // CHECK-NEXT: instr.insert @inout %x, @in %p offsets [2, 3]
  instr.insert @inout %x, @in %p offsets [2, 3]
  // CHECK-NEXT: instr.stacked @out %y, @out %x, @in %x {
  // CHECK-NEXT: ^bb0(%e: f32):
  // CHECK-NEXT:   %n = arith.negf %e : f32
  // CHECK-NEXT:   glow.yield %e, %n
  // CHECK-NEXT: }
  instr.stacked @out %y, @out %x, @in %x {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    glow.yield %e, %n
  }
  // CHECK-NEXT: instr.stacked @out %y, @in %x attributes {note} {
  instr.stacked @out %y, @in %x attributes {note} {
  ^bb0(%e: f32):
    glow.yield %e
  }
  func.return
}

// Instructions of the backend have the prefix of its dialect.
// CHECK-LABEL: func.func @backend
func.func @backend(%x: memref<1x32x4x4xf32>, %y: memref<1x2x4x4x16xf32>) {
  // CHECK: instr.cpu.pack @out %y, @in %x lanes 16
  instr.cpu.pack @out %y, @in %x lanes 16
  func.return
}
