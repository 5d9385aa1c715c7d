// RUN: glow-opt --loops-to-llvm='target=avx2' %s | filecheck %s
// RUN: glow-opt --loops-to-llvm='target=avx2' %s -t llvm | filecheck %s --check-prefix TEXT
// RUN: glow-opt --loops-to-llvm='target=neon' %s | filecheck %s --check-prefix ELSEWHERE

// A block that reads at dozens of distances from a pointer freezes it, so that the code generator
// does not weigh each distance as a pointer of its own; where distances have few bits it may.

// CHECK-LABEL: llvm.func @many
// CHECK: %[[ROW:.*]] = llvm.getelementptr %x[%
// CHECK: %[[FROZEN:.*]] = llvm.freeze %[[ROW]] : !llvm.ptr
// CHECK: llvm.getelementptr %[[FROZEN]][32]
// CHECK: llvm.getelementptr %[[FROZEN]][1120]
// CHECK-NOT: llvm.freeze
// TEXT-LABEL: @many
// TEXT: freeze ptr %
// ELSEWHERE-NOT: llvm.freeze
func.func @many(%x: memref<8x320xf32>, %y: memref<8xf32>) {
  %lower = arith.constant 0 : index
  %upper = arith.constant 8 : index
  %step = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 8 : index
  %c2 = arith.constant 16 : index
  %c3 = arith.constant 24 : index
  %c4 = arith.constant 32 : index
  %c5 = arith.constant 40 : index
  %c6 = arith.constant 48 : index
  %c7 = arith.constant 56 : index
  %c8 = arith.constant 64 : index
  %c9 = arith.constant 72 : index
  %c10 = arith.constant 80 : index
  %c11 = arith.constant 88 : index
  %c12 = arith.constant 96 : index
  %c13 = arith.constant 104 : index
  %c14 = arith.constant 112 : index
  %c15 = arith.constant 120 : index
  %c16 = arith.constant 128 : index
  %c17 = arith.constant 136 : index
  %c18 = arith.constant 144 : index
  %c19 = arith.constant 152 : index
  %c20 = arith.constant 160 : index
  %c21 = arith.constant 168 : index
  %c22 = arith.constant 176 : index
  %c23 = arith.constant 184 : index
  %c24 = arith.constant 192 : index
  %c25 = arith.constant 200 : index
  %c26 = arith.constant 208 : index
  %c27 = arith.constant 216 : index
  %c28 = arith.constant 224 : index
  %c29 = arith.constant 232 : index
  %c30 = arith.constant 240 : index
  %c31 = arith.constant 248 : index
  %c32 = arith.constant 256 : index
  %c33 = arith.constant 264 : index
  %c34 = arith.constant 272 : index
  %c35 = arith.constant 280 : index
  scf.for %i = %lower to %upper step %step {
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %v0 = vector.load %x[%i, %c0] : memref<8x320xf32>, vector<8xf32>
    %s1 = arith.addf %zero, %v0 : vector<8xf32>
    %v1 = vector.load %x[%i, %c1] : memref<8x320xf32>, vector<8xf32>
    %s2 = arith.addf %s1, %v1 : vector<8xf32>
    %v2 = vector.load %x[%i, %c2] : memref<8x320xf32>, vector<8xf32>
    %s3 = arith.addf %s2, %v2 : vector<8xf32>
    %v3 = vector.load %x[%i, %c3] : memref<8x320xf32>, vector<8xf32>
    %s4 = arith.addf %s3, %v3 : vector<8xf32>
    %v4 = vector.load %x[%i, %c4] : memref<8x320xf32>, vector<8xf32>
    %s5 = arith.addf %s4, %v4 : vector<8xf32>
    %v5 = vector.load %x[%i, %c5] : memref<8x320xf32>, vector<8xf32>
    %s6 = arith.addf %s5, %v5 : vector<8xf32>
    %v6 = vector.load %x[%i, %c6] : memref<8x320xf32>, vector<8xf32>
    %s7 = arith.addf %s6, %v6 : vector<8xf32>
    %v7 = vector.load %x[%i, %c7] : memref<8x320xf32>, vector<8xf32>
    %s8 = arith.addf %s7, %v7 : vector<8xf32>
    %v8 = vector.load %x[%i, %c8] : memref<8x320xf32>, vector<8xf32>
    %s9 = arith.addf %s8, %v8 : vector<8xf32>
    %v9 = vector.load %x[%i, %c9] : memref<8x320xf32>, vector<8xf32>
    %s10 = arith.addf %s9, %v9 : vector<8xf32>
    %v10 = vector.load %x[%i, %c10] : memref<8x320xf32>, vector<8xf32>
    %s11 = arith.addf %s10, %v10 : vector<8xf32>
    %v11 = vector.load %x[%i, %c11] : memref<8x320xf32>, vector<8xf32>
    %s12 = arith.addf %s11, %v11 : vector<8xf32>
    %v12 = vector.load %x[%i, %c12] : memref<8x320xf32>, vector<8xf32>
    %s13 = arith.addf %s12, %v12 : vector<8xf32>
    %v13 = vector.load %x[%i, %c13] : memref<8x320xf32>, vector<8xf32>
    %s14 = arith.addf %s13, %v13 : vector<8xf32>
    %v14 = vector.load %x[%i, %c14] : memref<8x320xf32>, vector<8xf32>
    %s15 = arith.addf %s14, %v14 : vector<8xf32>
    %v15 = vector.load %x[%i, %c15] : memref<8x320xf32>, vector<8xf32>
    %s16 = arith.addf %s15, %v15 : vector<8xf32>
    %v16 = vector.load %x[%i, %c16] : memref<8x320xf32>, vector<8xf32>
    %s17 = arith.addf %s16, %v16 : vector<8xf32>
    %v17 = vector.load %x[%i, %c17] : memref<8x320xf32>, vector<8xf32>
    %s18 = arith.addf %s17, %v17 : vector<8xf32>
    %v18 = vector.load %x[%i, %c18] : memref<8x320xf32>, vector<8xf32>
    %s19 = arith.addf %s18, %v18 : vector<8xf32>
    %v19 = vector.load %x[%i, %c19] : memref<8x320xf32>, vector<8xf32>
    %s20 = arith.addf %s19, %v19 : vector<8xf32>
    %v20 = vector.load %x[%i, %c20] : memref<8x320xf32>, vector<8xf32>
    %s21 = arith.addf %s20, %v20 : vector<8xf32>
    %v21 = vector.load %x[%i, %c21] : memref<8x320xf32>, vector<8xf32>
    %s22 = arith.addf %s21, %v21 : vector<8xf32>
    %v22 = vector.load %x[%i, %c22] : memref<8x320xf32>, vector<8xf32>
    %s23 = arith.addf %s22, %v22 : vector<8xf32>
    %v23 = vector.load %x[%i, %c23] : memref<8x320xf32>, vector<8xf32>
    %s24 = arith.addf %s23, %v23 : vector<8xf32>
    %v24 = vector.load %x[%i, %c24] : memref<8x320xf32>, vector<8xf32>
    %s25 = arith.addf %s24, %v24 : vector<8xf32>
    %v25 = vector.load %x[%i, %c25] : memref<8x320xf32>, vector<8xf32>
    %s26 = arith.addf %s25, %v25 : vector<8xf32>
    %v26 = vector.load %x[%i, %c26] : memref<8x320xf32>, vector<8xf32>
    %s27 = arith.addf %s26, %v26 : vector<8xf32>
    %v27 = vector.load %x[%i, %c27] : memref<8x320xf32>, vector<8xf32>
    %s28 = arith.addf %s27, %v27 : vector<8xf32>
    %v28 = vector.load %x[%i, %c28] : memref<8x320xf32>, vector<8xf32>
    %s29 = arith.addf %s28, %v28 : vector<8xf32>
    %v29 = vector.load %x[%i, %c29] : memref<8x320xf32>, vector<8xf32>
    %s30 = arith.addf %s29, %v29 : vector<8xf32>
    %v30 = vector.load %x[%i, %c30] : memref<8x320xf32>, vector<8xf32>
    %s31 = arith.addf %s30, %v30 : vector<8xf32>
    %v31 = vector.load %x[%i, %c31] : memref<8x320xf32>, vector<8xf32>
    %s32 = arith.addf %s31, %v31 : vector<8xf32>
    %v32 = vector.load %x[%i, %c32] : memref<8x320xf32>, vector<8xf32>
    %s33 = arith.addf %s32, %v32 : vector<8xf32>
    %v33 = vector.load %x[%i, %c33] : memref<8x320xf32>, vector<8xf32>
    %s34 = arith.addf %s33, %v33 : vector<8xf32>
    %v34 = vector.load %x[%i, %c34] : memref<8x320xf32>, vector<8xf32>
    %s35 = arith.addf %s34, %v34 : vector<8xf32>
    %v35 = vector.load %x[%i, %c35] : memref<8x320xf32>, vector<8xf32>
    %s36 = arith.addf %s35, %v35 : vector<8xf32>
    vector.store %s36, %y[%lower] : memref<8xf32>, vector<8xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @few
// CHECK-NOT: llvm.freeze
func.func @few(%x: memref<8x320xf32>, %y: memref<8xf32>) {
  %lower = arith.constant 0 : index
  %upper = arith.constant 8 : index
  %step = arith.constant 1 : index
  %c1 = arith.constant 8 : index
  scf.for %i = %lower to %upper step %step {
    %v0 = vector.load %x[%i, %lower] : memref<8x320xf32>, vector<8xf32>
    %v1 = vector.load %x[%i, %c1] : memref<8x320xf32>, vector<8xf32>
    %s = arith.addf %v0, %v1 : vector<8xf32>
    vector.store %s, %y[%lower] : memref<8xf32>, vector<8xf32>
  }
  func.return
}
