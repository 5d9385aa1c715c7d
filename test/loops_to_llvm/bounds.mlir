// RUN: glow-opt %s -p loops-to-llvm{target=avx512} | filecheck %s
// RUN: glow-opt %s -p loops-to-llvm{target=avx2} | filecheck %s --check-prefix=AVX2
// RUN: glow-opt %s -p loops-to-llvm{target=neon} | filecheck %s --check-prefix=NEON

// The bound comes first: the second operand is the result where one is NaN.
// CHECK-LABEL: llvm.func @bounded
// CHECK:       [[LOW:%.*]] = llvm.mlir.constant(dense<-1.280000e+02>
// CHECK:       [[HIGH:%.*]] = llvm.mlir.constant(dense<1.270000e+02>
// CHECK:       [[X:%.*]] = llvm.load
// CHECK-NOT:   llvm.fcmp
// CHECK:       [[Y:%.*]] = llvm.call_intrinsic "llvm.x86.avx512.max.ps.512"([[LOW]], [[X]], {{%.*}})
// CHECK-NEXT:  llvm.call_intrinsic "llvm.x86.avx512.min.ps.512"([[HIGH]], [[Y]], {{%.*}})
// CHECK-NOT:   llvm.select

// More lanes than a register has.
// AVX2-LABEL:  llvm.func @bounded
// AVX2:        llvm.fcmp "olt"
// AVX2-NEXT:   llvm.select
// NEON-LABEL:  llvm.func @bounded
// NEON-NOT:    x86
func.func @bounded(%m: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %low = arith.constant dense<-128.0> : vector<16xf32>
  %high = arith.constant dense<127.0> : vector<16xf32>
  %x = vector.transfer_read %m[%c0], %z {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  %less = arith.cmpf olt, %x, %low : vector<16xf32>
  %y = arith.select %less, %low, %x : vector<16xi1>, vector<16xf32>
  %greater = arith.cmpf ogt, %y, %high : vector<16xf32>
  %s = arith.select %greater, %high, %y : vector<16xi1>, vector<16xf32>
  vector.transfer_write %s, %m[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  func.return
}

// CHECK-LABEL: llvm.func @eight
// CHECK:       "llvm.x86.avx.max.ps.256"
// AVX2-LABEL:  llvm.func @eight
// AVX2:        "llvm.x86.avx.max.ps.256"
func.func @eight(%m: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %low = arith.constant dense<0.0> : vector<8xf32>
  %x = vector.transfer_read %m[%c0], %z {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %less = arith.cmpf olt, %x, %low : vector<8xf32>
  %y = arith.select %less, %low, %x : vector<8xi1>, vector<8xf32>
  vector.transfer_write %y, %m[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  func.return
}

// Another reader of the comparison, the number where it is the bound's turn, a comparison that
// holds for NaN: these are no bounds.
// CHECK-LABEL: llvm.func @others
// CHECK:       llvm.fcmp "olt"
// CHECK:       llvm.select
// CHECK:       llvm.fcmp "ult"
// CHECK-NEXT:  llvm.select
func.func @others(%m: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %low = arith.constant dense<0.0> : vector<8xf32>
  %x = vector.transfer_read %m[%c0], %z {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %less = arith.cmpf olt, %x, %low : vector<8xf32>
  %y = arith.select %less, %low, %x : vector<8xi1>, vector<8xf32>
  %w = arith.select %less, %x, %low : vector<8xi1>, vector<8xf32>
  %t = arith.addf %y, %w : vector<8xf32>
  %unordered = arith.cmpf ult, %t, %low : vector<8xf32>
  %u = arith.select %unordered, %low, %t : vector<8xi1>, vector<8xf32>
  vector.transfer_write %u, %m[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  func.return
}
