// RUN: glow-opt -p loops-to-llvm{target=wasm-simd} %s | filecheck %s
// RUN: glow-opt -p loops-to-llvm{target=wasm-relaxed-simd} %s | filecheck %s --check-prefix=RELAXED

// Even and odd bytes become 16-bit words, whose products are added up in pairs.
// CHECK-LABEL: llvm.func @bytes
// CHECK:       llvm.shl %{{.*}} : vector<8xi16>
// CHECK:       llvm.lshr %{{.*}} : vector<8xi16>
// CHECK:       llvm.ashr %{{.*}} : vector<8xi16>
// CHECK:       "llvm.wasm.dot"
// CHECK:       "llvm.wasm.dot"
// CHECK-NOT:   llvm.mul
// Relaxed dot products are exact for 7 bits: the highest bits are multiplied apart.
// RELAXED-LABEL: llvm.func @bytes
// RELAXED:       llvm.and %{{.*}} : vector<16xi8>
// RELAXED:       llvm.lshr %{{.*}} : vector<16xi8>
// RELAXED:       "llvm.wasm.relaxed.dot.i8x16.i7x16.add.signed"
// RELAXED:       "llvm.wasm.relaxed.dot.i8x16.i7x16.add.signed"
// RELAXED:       llvm.shl %{{.*}} : vector<4xi32>
func.func @bytes(%a: memref<1x4xi8>, %w: memref<4x4xi8>, %y: memref<1x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<1x4xi8>, vector<1x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x4xi8>, vector<4x4xi8>
  %ux = arith.extui %u : vector<1x4xi8> to vector<1x4xi32>
  %vx = arith.extsi %v : vector<4x4xi8> to vector<4x4xi32>
  %acc = arith.constant dense<0> : vector<1x4xi32>
  %r = vector.contract {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                     affine_map<(d0, d1, d2) -> (d1, d2)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = [#vector.iterator_type<parallel>, #vector.iterator_type<parallel>,
                      #vector.iterator_type<reduction>],
    kind = #vector.kind<add>
  } %ux, %vx, %acc : vector<1x4xi32>, vector<4x4xi32> into vector<1x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<1x4xi32>, memref<1x4xi32>
  func.return
}

// Signed words are multiplied in pairs as they are.
// CHECK-LABEL: llvm.func @words
// CHECK-NOT:   llvm.shl
// CHECK:       "llvm.wasm.dot"
// CHECK-NOT:   "llvm.wasm.dot"
// CHECK-NOT:   llvm.mul
// RELAXED-LABEL: llvm.func @words
// RELAXED:       "llvm.wasm.dot"
func.func @words(%a: memref<1x2xi16>, %w: memref<4x2xi16>, %y: memref<1x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i16
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<1x2xi16>, vector<1x2xi16>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x2xi16>, vector<4x2xi16>
  %ux = arith.extsi %u : vector<1x2xi16> to vector<1x2xi32>
  %vx = arith.extsi %v : vector<4x2xi16> to vector<4x2xi32>
  %acc = arith.constant dense<0> : vector<1x4xi32>
  %r = vector.contract {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                     affine_map<(d0, d1, d2) -> (d1, d2)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = [#vector.iterator_type<parallel>, #vector.iterator_type<parallel>,
                      #vector.iterator_type<reduction>],
    kind = #vector.kind<add>
  } %ux, %vx, %acc : vector<1x2xi32>, vector<4x2xi32> into vector<1x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<1x4xi32>, memref<1x4xi32>
  func.return
}

// A multiply-add is two operations, or the relaxed one, whose engine rounds once or twice.
// CHECK-LABEL:   llvm.func @fused
// CHECK:         llvm.fmul %{{.*}} : vector<4xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<4xf32>
// RELAXED-LABEL: llvm.func @fused
// RELAXED:       "llvm.wasm.relaxed.madd.v4f32"
func.func @fused(%a: vector<4xf32>, %b: vector<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %r = vector.fma %a, %b, %a : vector<4xf32>
  vector.store %r, %y[%c0] : memref<4xf32>, vector<4xf32>
  func.return
}
