// RUN: glow-opt -p loops-to-llvm{target=neon} %s | filecheck %s --check-prefix=NEON
// RUN: glow-opt -p loops-to-llvm{target=neon-dotprod} %s | filecheck %s --check-prefix=DOTPROD
// RUN: glow-opt -p loops-to-llvm{target=neon-i8mm} %s | filecheck %s --check-prefix=I8MM

// The words of four rows are one load, and each is a lane of it. Without dot products the
// weights of a step are brought together, and multiplied by lanes of 16 bits.
func.func @unsigned(%a: memref<5x4xi8>, %w: memref<4x4xi8>, %y: memref<5x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<5x4xi8>, vector<5x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x4xi8>, vector<4x4xi8>
  %ux = arith.extui %u : vector<5x4xi8> to vector<5x4xi32>
  %vx = arith.extsi %v : vector<4x4xi8> to vector<4x4xi32>
  %acc = arith.constant dense<0> : vector<5x4xi32>
  // NEON-LABEL: llvm.func @unsigned
  // NEON:      %[[WORDS:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
  // NEON:      llvm.shufflevector %{{.*}} [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]
  // NEON:      llvm.sext %{{.*}} : vector<8xi8> to vector<8xi16>
  // NEON:      llvm.zext %{{.*}} : vector<8xi8> to vector<8xi16>
  // NEON:      llvm.mul %{{.*}} : vector<4xi32>
  // I8MM-LABEL: llvm.func @unsigned
  // I8MM:      llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
  // I8MM-NOT:  llvm.xor
  // I8MM:      "llvm.aarch64.neon.usdot.v4i32.v16i8"
  // DOTPROD-LABEL: llvm.func @unsigned
  // DOTPROD-NOT: sdot
  // DOTPROD:   llvm.mul %{{.*}} : vector<4xi32>
  %r = vector.contract {
      indexing_maps = [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>,
                       affine_map<(m, l, k) -> (m, l)>],
      iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %ux, %vx, %acc
    : vector<5x4xi32>, vector<4x4xi32> into vector<5x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<5x4xi32>, memref<5x4xi32>
  func.return
}

// Bytes whose highest bit is flipped are signed: four rows at once.
func.func @flipped(%a: memref<5x4xi8>, %w: memref<4x4xi8>, %y: memref<5x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %sign = arith.constant dense<-128> : vector<5x4xi8>
  %u = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<5x4xi8>, vector<5x4xi8>
  %v = vector.transfer_read %w[%c0, %c0], %z {in_bounds = [true, true]}
    : memref<4x4xi8>, vector<4x4xi8>
  %s = arith.xori %u, %sign : vector<5x4xi8>
  %sx = arith.extsi %s : vector<5x4xi8> to vector<5x4xi32>
  %vx = arith.extsi %v : vector<4x4xi8> to vector<4x4xi32>
  %acc = arith.constant dense<0> : vector<5x4xi32>
  // DOTPROD-LABEL: llvm.func @flipped
  // DOTPROD:       %[[FOUR:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
  // DOTPROD:       llvm.xor %[[FOUR]], %{{.*}} : vector<16xi8>
  // DOTPROD-NOT:   llvm.xor
  // DOTPROD:       "llvm.aarch64.neon.sdot.v4i32.v16i8"
  // DOTPROD-NOT:   llvm.mul
  %r = vector.contract {
      indexing_maps = [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>,
                       affine_map<(m, l, k) -> (m, l)>],
      iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %sx, %vx, %acc
    : vector<5x4xi32>, vector<4x4xi32> into vector<5x4xi32>
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<5x4xi32>, memref<5x4xi32>
  func.return
}
