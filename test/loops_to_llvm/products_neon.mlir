// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s
// RUN: glow-opt -p loops-to-llvm{target=avx2} %s | filecheck %s --check-prefix=OTHER

// Of bytes that were extended, also before they are repeated, 16 bits are multiplied.
// CHECK-LABEL:   llvm.func @bytes
// CHECK-COUNT-2: "llvm.aarch64.neon.smull.v4i32"
// CHECK-NOT:     llvm.mul
// OTHER-LABEL:   llvm.func @bytes
// OTHER-NOT:     smull
func.func @bytes(%x: memref<2x4xi8>, %w: memref<4xi8>, %y: memref<2x4xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %pixels = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]}
    : memref<2x4xi8>, vector<2x4xi8>
  %weights = vector.load %w[%c0] : memref<4xi8>, vector<4xi8>
  %wide = arith.extui %pixels : vector<2x4xi8> to vector<2x4xi32>
  %factor = arith.extsi %weights : vector<4xi8> to vector<4xi32>
  %rows = vector.broadcast %factor : vector<4xi32> to vector<2x4xi32>
  %product = arith.muli %wide, %rows : vector<2x4xi32>
  vector.transfer_write %product, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<2x4xi32>, memref<2x4xi32>
  func.return
}

// Words have more bits.
// CHECK-LABEL: llvm.func @words
// CHECK:       llvm.mul %{{.*}} : vector<4xi32>
func.func @words(%x: vector<4xi32>, %b: vector<4xi8>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %wide = arith.extsi %b : vector<4xi8> to vector<4xi32>
  %product = arith.muli %x, %wide : vector<4xi32>
  vector.store %product, %y[%c0] : memref<4xi32>, vector<4xi32>
  func.return
}
