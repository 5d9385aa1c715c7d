// RUN: glow-opt --loops-to-llvm='target=avx2' %s | filecheck %s
// RUN: glow-opt --loops-to-llvm='target=avx2' %s -t llvm | filecheck %s --check-prefix TEXT
// RUN: glow-opt --loops-to-llvm='target=neon' %s | filecheck %s --check-prefix ELSEWHERE

// What is read at constant distances from a pointer is read from a frozen one, so that the code
// generator does not weigh each distance as a pointer of its own; where distances have few bits it
// may.

// CHECK-LABEL: llvm.func @distances
// CHECK: %[[ROW:.*]] = llvm.getelementptr %x[%
// CHECK: llvm.load %[[ROW]]
// CHECK: %[[FROZEN:.*]] = llvm.freeze %[[ROW]] : !llvm.ptr
// CHECK: llvm.getelementptr %[[FROZEN]][32]
// CHECK: llvm.getelementptr %[[FROZEN]][64]
// CHECK-NOT: llvm.freeze
// TEXT-LABEL: @distances
// TEXT: freeze ptr %
// ELSEWHERE-LABEL: @distances
// ELSEWHERE-NOT: llvm.freeze
func.func @distances(%x: memref<8x320xf32>, %y: memref<8xf32>) {
  %lower = arith.constant 0 : index
  %upper = arith.constant 8 : index
  %step = arith.constant 1 : index
  %c1 = arith.constant 8 : index
  %c2 = arith.constant 16 : index
  scf.for %i = %lower to %upper step %step {
    %v0 = vector.load %x[%i, %lower] : memref<8x320xf32>, vector<8xf32>
    %v1 = vector.load %x[%i, %c1] : memref<8x320xf32>, vector<8xf32>
    %v2 = vector.load %x[%i, %c2] : memref<8x320xf32>, vector<8xf32>
    %s = arith.addf %v0, %v1 : vector<8xf32>
    %t = arith.addf %s, %v2 : vector<8xf32>
    vector.store %t, %y[%lower] : memref<8xf32>, vector<8xf32>
  }
  func.return
}

// A pointer that is read where it points needs none.
// CHECK-LABEL: llvm.func @one
// CHECK-NOT: llvm.freeze
func.func @one(%x: memref<8x320xf32>, %y: memref<8xf32>) {
  %lower = arith.constant 0 : index
  %upper = arith.constant 8 : index
  %step = arith.constant 1 : index
  scf.for %i = %lower to %upper step %step {
    %v = vector.load %x[%i, %lower] : memref<8x320xf32>, vector<8xf32>
    vector.store %v, %y[%lower] : memref<8xf32>, vector<8xf32>
  }
  func.return
}
