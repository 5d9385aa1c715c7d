// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s
// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=GENERIC
// RUN: glow-opt %s | glow-opt | filecheck %s --check-prefix=ROUNDTRIP

// Extension and contraction of bytes are one instruction where the target has it.
// CHECK-LABEL: llvm.func @bytes
// GENERIC-LABEL: llvm.func @bytes
func.func @bytes(%a: memref<2x4xi8>, %w: memref<16x4xi8>, %y: memref<2x16xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<2x4xi8>, vector<2x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<16x4xi8>, vector<16x4xi8>
  %ux = arith.extui %u : vector<2x4xi8> to vector<2x4xi32>
  %vx = arith.extsi %v : vector<16x4xi8> to vector<16x4xi32>
  %acc = arith.constant dense<0> : vector<2x16xi32>
  // CHECK:     llvm.load %a {alignment = 1 : i64} : !llvm.ptr -> vector<4xi8>
  // CHECK:     llvm.load %w {alignment = 1 : i64} : !llvm.ptr -> vector<64xi8>
  // CHECK-NOT: llvm.zext
  // CHECK:     "llvm.x86.avx512.vpdpbusd.512"
  // CHECK:     "llvm.x86.avx512.vpdpbusd.512"
  // CHECK-NOT: llvm.zext
  // GENERIC: llvm.zext
  // GENERIC: llvm.sext
  // GENERIC: llvm.mul
  // ROUNDTRIP: vector.contract {indexing_maps = [{{.*}}], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %{{.*}}, %{{.*}}, %{{.*}} : vector<2x4xi32>, vector<16x4xi32> into vector<2x16xi32>
  %r = vector.contract {
      indexing_maps = [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>,
                       affine_map<(m, l, k) -> (m, l)>],
      iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %ux, %vx, %acc
    : vector<2x4xi32>, vector<16x4xi32> into vector<2x16xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<2x16xi32>, memref<2x16xi32>
  func.return
}

// Bytes in words that were loaded as such are multiplied as they are: rows of registers are not cut.
// CHECK-LABEL: llvm.func @words
// GENERIC-LABEL: llvm.func @words
func.func @words(%a: memref<2x4xi8>, %w: memref<2x16xi32>, %y: memref<2x2x16xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %zero = arith.constant 0 : i32
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<2x4xi8>, vector<2x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %zero {in_bounds = [true, true]}
    : memref<2x16xi32>, vector<2x16xi32>
  %mask = arith.constant dense<252645135> : vector<2x16xi32>
  %codes = arith.andi %v, %mask : vector<2x16xi32>
  %bytes = vector.bitcast %codes : vector<2x16xi32> to vector<2x64xi8>
  %parts = vector.shape_cast %bytes : vector<2x64xi8> to vector<2x16x4xi8>
  %ux = arith.extsi %u : vector<2x4xi8> to vector<2x4xi32>
  %vx = arith.extui %parts : vector<2x16x4xi8> to vector<2x16x4xi32>
  %acc = arith.constant dense<0> : vector<2x2x16xi32>
  // CHECK:          llvm.bitcast %{{.*}} : vector<16xi32> to vector<64xi8>
  // CHECK-NOT:      shufflevector %{{.*}} [0, 1, 2, 3] : vector<64xi8>
  // CHECK-COUNT-4:  "llvm.x86.avx512.vpdpbusd.512"
  // GENERIC:        llvm.mul
  %r = vector.contract {
      indexing_maps = [affine_map<(m, n, l, k) -> (m, k)>, affine_map<(m, n, l, k) -> (n, l, k)>,
                       affine_map<(m, n, l, k) -> (m, n, l)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %ux, %vx, %acc
    : vector<2x4xi32>, vector<2x16x4xi32> into vector<2x2x16xi32>
  vector.transfer_write %r, %y[%c0, %c0, %c0] {in_bounds = [true, true, true]}
    : vector<2x2x16xi32>, memref<2x2x16xi32>
  func.return
}
