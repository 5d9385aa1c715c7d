// RUN: glow-opt -p loops-to-llvm{target=wasm-simd} %s | filecheck %s --check-prefix=SIMD
// RUN: glow-opt -p loops-to-llvm{target=wasm} %s | filecheck %s --check-prefix=SCALAR
// RUN: glow-opt -p loops-to-llvm{target=avx2} %s | filecheck %s --check-prefix=AVX2
// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=NEON

// Between constants a sum rounds; vectors of words are narrowed by saturation, which clamps too.
// SIMD-LABEL:   llvm.func @clamped
// SIMD:         llvm.fadd %{{.*}}, %{{.*}} : vector<4xf32>
// SIMD:         llvm.fcmp "olt" %{{.*}}, %[[LEAST:.*]] : vector<4xf32>
// SIMD:         %[[KEPT:.*]] = llvm.select %{{.*}}, %[[LEAST]], %{{.*}} : vector<4xi1>, vector<4xf32>
// SIMD-NEXT:    %[[BITS:.*]] = llvm.bitcast %[[KEPT]] : vector<4xf32> to vector<4xi32>
// SIMD-NEXT:    llvm.add %[[BITS]], %{{.*}} : vector<4xi32>
// SIMD-NOT:     llvm.fptosi
// SIMD-NOT:     llvm.and
// SIMD:         "llvm.wasm.narrow.signed.v8i16.v4i32"
// SIMD:         "llvm.wasm.narrow.unsigned.v16i8.v8i16"
// SIMD-NOT:     llvm.trunc
// SCALAR-LABEL: llvm.func @clamped
// SCALAR:       llvm.fadd
// SCALAR-NOT:   llvm.wasm.narrow
// SCALAR:       llvm.trunc %{{.*}} : vector<4xi32> to vector<4xi8>
// AVX2-LABEL:   llvm.func @clamped
// AVX2:         llvm.lrint.v4i32.v4f32
// AVX2:         llvm.trunc
// NEON-LABEL:   llvm.func @clamped
// NEON:         llvm.trunc %{{.*}} : vector<16xi32> to vector<16xi8>
// NEON-NOT:     llvm.trunc
// NEON-LABEL:   llvm.func @narrower
func.func @clamped(%x: memref<2x4xf32>, %y: memref<2x4xi8>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant dense<0.0> : vector<2x4xf32>
  %high = arith.constant dense<255.0> : vector<2x4xf32>
  %read = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]}
    : memref<2x4xf32>, vector<2x4xf32>
  %under = arith.cmpf olt, %read, %low : vector<2x4xf32>
  %raised = arith.select %under, %low, %read : vector<2x4xi1>, vector<2x4xf32>
  %over = arith.cmpf ogt, %raised, %high : vector<2x4xf32>
  %bounded = arith.select %over, %high, %raised : vector<2x4xi1>, vector<2x4xf32>
  %whole = math.roundeven %bounded : vector<2x4xf32>
  %words = arith.fptosi %whole : vector<2x4xf32> to vector<2x4xi32>
  %bytes = arith.trunci %words : vector<2x4xi32> to vector<2x4xi8>
  vector.transfer_write %bytes, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<2x4xi8>, memref<2x4xi8>
  func.return
}

// Other bounds than those of a byte are clamped as they stand, and the low bytes taken.
// SIMD-LABEL: llvm.func @narrower
// SIMD:       llvm.fadd
// SIMD:       llvm.and %{{.*}}, %{{.*}} : vector<4xi32>
// SIMD:       "llvm.wasm.narrow.unsigned.v8i16.v4i32"
// Those of a byte once a zero point is added are.
// SIMD-LABEL: llvm.func @moved
// SIMD:       llvm.fadd
// SIMD-NOT:   llvm.and
// SIMD:       "llvm.wasm.narrow.signed.v8i16.v4i32"
func.func @narrower(%x: vector<4xf32>, %y: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0.0> : vector<4xf32>
  %high = arith.constant dense<254.0> : vector<4xf32>
  %under = arith.cmpf olt, %x, %low : vector<4xf32>
  %raised = arith.select %under, %low, %x : vector<4xi1>, vector<4xf32>
  %over = arith.cmpf ogt, %raised, %high : vector<4xf32>
  %bounded = arith.select %over, %high, %raised : vector<4xi1>, vector<4xf32>
  %whole = math.roundeven %bounded : vector<4xf32>
  %words = arith.fptosi %whole : vector<4xf32> to vector<4xi32>
  %bytes = arith.trunci %words : vector<4xi32> to vector<4xi8>
  vector.store %bytes, %y[%c0] : memref<4xi8>, vector<4xi8>
  func.return
}
func.func @moved(%x: vector<4xf32>, %y: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<-112.0> : vector<4xf32>
  %high = arith.constant dense<143.0> : vector<4xf32>
  %point = arith.constant dense<112> : vector<4xi32>
  %under = arith.cmpf olt, %x, %low : vector<4xf32>
  %raised = arith.select %under, %low, %x : vector<4xi1>, vector<4xf32>
  %over = arith.cmpf ogt, %raised, %high : vector<4xf32>
  %bounded = arith.select %over, %high, %raised : vector<4xi1>, vector<4xf32>
  %whole = math.roundeven %bounded : vector<4xf32>
  %words = arith.fptosi %whole : vector<4xf32> to vector<4xi32>
  %raised_words = arith.addi %words, %point : vector<4xi32>
  %bytes = arith.trunci %raised_words : vector<4xi32> to vector<4xi8>
  vector.store %bytes, %y[%c0] : memref<4xi8>, vector<4xi8>
  func.return
}

// A float that may be large is rounded by the instruction.
// SIMD-LABEL: llvm.func @open
// SIMD:       llvm.roundeven.v4f32
// SIMD:       llvm.fptosi
func.func @open(%x: vector<4xf32>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0.0> : vector<4xf32>
  %under = arith.cmpf olt, %x, %low : vector<4xf32>
  %raised = arith.select %under, %low, %x : vector<4xi1>, vector<4xf32>
  %whole = math.roundeven %raised : vector<4xf32>
  %words = arith.fptosi %whole : vector<4xf32> to vector<4xi32>
  vector.store %words, %y[%c0] : memref<4xi32>, vector<4xi32>
  func.return
}
