// RUN: glow-opt %s | glow-opt | filecheck %s --check-prefix=TEXT
// RUN: glow-opt -p loops-to-llvm{target=avx2} %s | filecheck %s --check-prefix=AVX2
// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s --check-prefix=AVX512
// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=NEON

// A table of bytes is sixteen registers for shuffles, which give 0 for places in other rows.
// TEXT:       vector.gather %t[%c0] [%{{.*}}], %{{.*}}, %{{.*}} : memref<256xi8>, vector<64xi32>, vector<64xi1>, vector<64xi8> into vector<64xi8>
// AVX2-LABEL:   llvm.func @table
// AVX2-COUNT-16: llvm.load {{.*}} -> vector<16xi8>
// AVX2:         %[[PLACE:.*]] = llvm.xor %{{.*}}, %{{.*}} : vector<32xi8>
// AVX2-NEXT:    %[[MARKED:.*]] = llvm.call_intrinsic "llvm.uadd.sat.v32i8"(%[[PLACE]], %{{.*}})
// AVX2-NEXT:    llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"(%{{.*}}, %[[MARKED]])
// AVX2:         llvm.or
// AVX512-LABEL: llvm.func @table
// AVX512:       llvm.call_intrinsic "llvm.x86.avx512.pshuf.b.512"
// NEON-LABEL:   llvm.func @table
// NEON:         llvm.zext %{{.*}} : i8 to i64
// NEON:         llvm.load %{{.*}} -> i8
func.func @table(%x: memref<64xi8>, %t: memref<256xi8>, %y: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %all = arith.constant dense<true> : vector<64xi1>
  %none = arith.constant dense<0> : vector<64xi8>
  %0 = vector.load %x[%c0] : memref<64xi8>, vector<64xi8>
  %1 = arith.extui %0 : vector<64xi8> to vector<64xi32>
  %2 = vector.gather %t[%c0] [%1], %all, %none : memref<256xi8>, vector<64xi32>, vector<64xi1>, vector<64xi8> into vector<64xi8>
  vector.store %2, %y[%c0] : memref<64xi8>, vector<64xi8>
  func.return
}
