// RUN: glow-opt -p loops-to-llvm{target=avx2} %s | filecheck %s
// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=OTHER

// Of bytes that were extended, also before they are repeated, the lower halves are multiplied: the
// upper ones of unsigned bytes are 0.
// CHECK-LABEL:   llvm.func @bytes
// CHECK-COUNT-3: llvm.bitcast %{{.*}} : vector<8xi32> to vector<16xi16>
// CHECK-COUNT-2: "llvm.x86.avx2.pmadd.wd"
// CHECK-NOT:     llvm.mul %{{.*}} : vector
// OTHER-LABEL:   llvm.func @bytes
// OTHER-NOT:     pmadd
func.func @bytes(%x: memref<2x8xi8>, %w: memref<8xi8>, %y: memref<2x8xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %pixels = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]}
    : memref<2x8xi8>, vector<2x8xi8>
  %weights = vector.load %w[%c0] : memref<8xi8>, vector<8xi8>
  %wide = arith.extui %pixels : vector<2x8xi8> to vector<2x8xi32>
  %factor = arith.extsi %weights : vector<8xi8> to vector<8xi32>
  %rows = vector.broadcast %factor : vector<8xi32> to vector<2x8xi32>
  %product = arith.muli %wide, %rows : vector<2x8xi32>
  vector.transfer_write %product, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<2x8xi32>, memref<2x8xi32>
  func.return
}

// The upper halves of signed bytes are -1 where they are negative.
// CHECK-LABEL: llvm.func @signed
// CHECK:       llvm.mul %{{.*}} : vector<8xi32>
func.func @signed(%a: vector<8xi8>, %b: vector<8xi8>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %left = arith.extsi %a : vector<8xi8> to vector<8xi32>
  %right = arith.extsi %b : vector<8xi8> to vector<8xi32>
  %product = arith.muli %left, %right : vector<8xi32>
  vector.store %product, %y[%c0] : memref<8xi32>, vector<8xi32>
  func.return
}

// Numbers have more bits.
// CHECK-LABEL: llvm.func @numbers
// CHECK:       llvm.mul %{{.*}} : vector<8xi32>
func.func @numbers(%x: vector<8xi32>, %b: vector<8xi8>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %wide = arith.extui %b : vector<8xi8> to vector<8xi32>
  %product = arith.muli %x, %wide : vector<8xi32>
  vector.store %product, %y[%c0] : memref<8xi32>, vector<8xi32>
  func.return
}

// No instruction multiplies half a register.
// CHECK-LABEL: llvm.func @half
// CHECK:       llvm.mul %{{.*}} : vector<2xi32>
func.func @half(%a: vector<2xi8>, %b: vector<2xi8>, %y: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %left = arith.extui %a : vector<2xi8> to vector<2xi32>
  %right = arith.extsi %b : vector<2xi8> to vector<2xi32>
  %product = arith.muli %left, %right : vector<2xi32>
  vector.store %product, %y[%c0] : memref<2xi32>, vector<2xi32>
  func.return
}

// Pairs of 16-bit integers times bytes: a row of weights is extended once for both pixels.
// CHECK-LABEL:   llvm.func @pairs
// CHECK-COUNT-1: llvm.sext %{{.*}} : vector<16xi8> to vector<16xi16>
// CHECK-COUNT-2: "llvm.x86.avx2.pmadd.wd"
// CHECK-NOT:     sext
// CHECK-NOT:     llvm.mul
func.func @pairs(%x: memref<2x2xi16>, %w: memref<1x8x2xi8>, %y: memref<2x1x8xi32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i8
  %nothing = arith.constant 0 : i16
  %zero = arith.constant 0 : i32
  %pixels = vector.transfer_read %x[%c0, %c0], %nothing {in_bounds = [true, true]}
    : memref<2x2xi16>, vector<2x2xi16>
  %weights = vector.transfer_read %w[%c0, %c0, %c0], %none {in_bounds = [true, true, true]}
    : memref<1x8x2xi8>, vector<1x8x2xi8>
  %sums = vector.transfer_read %y[%c0, %c0, %c0], %zero {in_bounds = [true, true, true]}
    : memref<2x1x8xi32>, vector<2x1x8xi32>
  %left = arith.extsi %pixels : vector<2x2xi16> to vector<2x2xi32>
  %right = arith.extsi %weights : vector<1x8x2xi8> to vector<1x8x2xi32>
  %total = vector.contract {
    indexing_maps = [affine_map<(m, n, l, k) -> (m, k)>, affine_map<(m, n, l, k) -> (n, l, k)>,
                     affine_map<(m, n, l, k) -> (m, n, l)>],
    iterator_types = [#vector.iterator_type<parallel>, #vector.iterator_type<parallel>,
                      #vector.iterator_type<parallel>, #vector.iterator_type<reduction>],
    kind = #vector.kind<add>} %left, %right, %sums
    : vector<2x2xi32>, vector<1x8x2xi32> into vector<2x1x8xi32>
  vector.transfer_write %total, %y[%c0, %c0, %c0] {in_bounds = [true, true, true]}
    : vector<2x1x8xi32>, memref<2x1x8xi32>
  func.return
}
