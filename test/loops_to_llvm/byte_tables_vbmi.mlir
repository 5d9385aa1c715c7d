// RUN: glow-opt -p loops-to-llvm{target=avx512_with-avx512vbmi} %s | filecheck %s

// Each half of a table is two registers, and the highest bit of a place chooses.
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<64xi8>
// CHECK:         %[[LOW:.*]] = llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"
// CHECK-NEXT:    %[[HIGH:.*]] = llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"
// CHECK:         %[[UPPER:.*]] = llvm.icmp "slt"
// CHECK-NEXT:    llvm.select %[[UPPER]], %[[HIGH]], %[[LOW]]
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
