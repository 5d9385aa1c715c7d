// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s

// Rows of a transfer_read are loaded just before the instruction that needs them.
// CHECK-LABEL: llvm.func @fma
func.func @fma(%a: memref<3x16xf32>, %b: memref<16xf32>, %y: memref<3x16xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %w = vector.transfer_read %b[%c0], %z {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  %wb = vector.broadcast %w : vector<16xf32> to vector<3x16xf32>
  %v = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<3x16xf32>, vector<3x16xf32>
  // CHECK:      llvm.load %a
  // CHECK-NEXT: %[[W:.*]] = llvm.load %b
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fma.v16f32"(%{{.*}}, %[[W]], %[[W]])
  // CHECK-NEXT: llvm.getelementptr %a[64]
  // CHECK-NEXT: llvm.load
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fma.v16f32"
  // CHECK-NEXT: llvm.getelementptr %a[128]
  %r = vector.fma %v, %wb, %wb : vector<3x16xf32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<3x16xf32>, memref<3x16xf32>
  func.return
}

// ... but never behind a store that follows the read.
// CHECK-LABEL: llvm.func @swap
func.func @swap(%a: memref<16xf32>, %b: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%c0], %z {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  %w = vector.transfer_read %b[%c0], %z {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  // CHECK:      %[[V:.*]] = llvm.load %a
  // CHECK-NEXT: %[[W:.*]] = llvm.load %b
  // CHECK-NEXT: llvm.store %[[V]], %b
  // CHECK-NEXT: llvm.store %[[W]], %a
  vector.transfer_write %v, %b[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  vector.transfer_write %w, %a[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  func.return
}
