// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s

// Each term of an address is made in the loop that defines its variable, once; constant
// parts and views emit nothing but one constant offset at the access.

// CHECK-LABEL: llvm.func @f
func.func @f(%x: memref<4x58x58x16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c56 = arith.constant 56 : index
  // CHECK:      llvm.br ^[[OUTER:.*]](%{{.*}} : i64)
  // CHECK-NEXT: ^[[OUTER]](%[[I:.*]]: i64):
  // CHECK-NEXT:   %[[IM:.*]] = llvm.mul %[[I]], %{{.*}} : i64
  // CHECK-NEXT:   %[[IP:.*]] = llvm.getelementptr %x[%[[IM]]]
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK-NEXT:   llvm.br ^[[INNER:.*]](%{{.*}} : i64)
    // CHECK-NEXT: ^[[INNER]](%[[J:.*]]: i64):
    // CHECK-NEXT:   %[[JM:.*]] = llvm.mul %[[J]], %{{.*}} : i64
    // CHECK-NEXT:   %[[JP:.*]] = llvm.getelementptr %[[IP]][%[[JM]]]
    scf.for %j = %c0 to %c56 step %c1 {
      %j1 = arith.addi %j, %c1 : index
      %row = memref.subview %x[%i, %j1, 2, 0] [1, 1, 14, 16] [1, 1, 1, 1]
        : memref<4x58x58x16xf32> to memref<14x16xf32, strided<[16, 1], offset: ?>>
      // 3712 for j + 1, 128 for the third column
      // CHECK-NEXT: %[[P:.*]] = llvm.freeze %[[JP]] : !llvm.ptr
      // CHECK-NEXT: %[[A:.*]] = llvm.getelementptr %[[P]][3840]
      // CHECK-NEXT: %[[V:.*]] = llvm.load %[[A]] {alignment = 4 : i64}
      %v = vector.load %row[%c0, %c0]
        : memref<14x16xf32, strided<[16, 1], offset: ?>>, vector<16xf32>
      // CHECK-NEXT: llvm.store %[[V]], %y {alignment = 4 : i64}
      vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>
    }
  }
  func.return
}
