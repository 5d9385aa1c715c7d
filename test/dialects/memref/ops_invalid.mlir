// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

func.func @f(%m: memref<4x16xf32>, %i: index) {
  // CHECK: locality must be 0, 1, 2 or 3
  memref.prefetch %m[%i, %i], read, locality<4>, data : memref<4x16xf32>
  func.return
}

// -----

func.func @g(%m: memref<4x16xf32>, %i: index) {
  // CHECK: expected 2 indices
  memref.prefetch %m[%i], read, locality<3>, data : memref<4x16xf32>
  func.return
}

// -----

func.func @h(%m: memref<4x16xf32>, %i: index) {
  // CHECK: 'read' or 'write' expected
  memref.prefetch %m[%i, %i], look, locality<3>, data : memref<4x16xf32>
  func.return
}
