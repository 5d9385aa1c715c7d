// RUN: glow-opt -p verify-loops --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: argument of @f: memref<?xf32> must have a static shape
func.func @f(%x: memref<?xf32>) {
  func.return
}

// -----

// CHECK: memref.alloc in @g: is not in the vocabulary of the loops level
func.func @g() {
  %x = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK: vector.transfer_read in @h: in_bounds must be true in every dimension
func.func @h(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %z : memref<4xf32>, vector<8xf32>
  func.return
}

// -----

// CHECK: memref.alloca in @i: must stand in the function's entry block
func.func @i() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %c1 step %c1 {
    %t = memref.alloca() : memref<4xf32>
  }
  func.return
}
