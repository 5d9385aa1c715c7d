// RUN: glow-opt -p loops-to-llvm{target=sapphirerapids} %s | filecheck %s

// Tiles are values that loops carry; each intrinsic says their rows and the bytes of these.
// CHECK-LABEL: llvm.func @bytes
func.func @bytes(%x: memref<16x192xi8>, %w: memref<48x64xi8>, %y: memref<16x32xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // CHECK:      %[[Z:.*]] = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%{{.*}}, %{{.*}}) : (i16, i16) -> !llvm.x86_amx
  // CHECK-NEXT: llvm.br ^bb1(%{{.*}}, %[[Z]] : i64, !llvm.x86_amx)
  %z = amx.tile_zero : !amx.tile<16x16xi32>
  %s = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %z) -> (!amx.tile<16x16xi32>) {
    %i = arith.muli %k, %c64 : index
    %j = arith.muli %k, %c16 : index
    // CHECK: "llvm.x86.tileloadd64.internal"
    %a = amx.tile_load %x[%c0, %i] : memref<16x192xi8> into !amx.tile<16x64xi8>
    // CHECK: "llvm.x86.tileloadd64.internal"
    %b = amx.tile_load %w[%j, %c0] : memref<48x64xi8> into !amx.tile<16x64xi8>
    // CHECK: "llvm.x86.tdpbusd.internal"
    %d = amx.tile_muli %a zext, %b, %acc
      : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    scf.yield %d : !amx.tile<16x16xi32>
  }
  // CHECK: "llvm.x86.tilestored64.internal"
  amx.tile_store %y[%c0, %c16], %s : memref<16x32xi32>, !amx.tile<16x16xi32>
  func.return
}

// The signs of bytes choose the product, and so do elements; a stride counts elements.
// CHECK-LABEL: llvm.func @products
func.func @products(
    %a: memref<8x64xi8>, %w: memref<16x64xi8>, %h: memref<512xbf16>, %y: memref<8x16xi32>,
    %f: memref<16x16xf32>, %s: index) {
  %c0 = arith.constant 0 : index
  %0 = amx.tile_zero : !amx.tile<8x16xi32>
  %1 = amx.tile_load %a[%c0, %c0] : memref<8x64xi8> into !amx.tile<8x64xi8>
  %2 = amx.tile_load %w[%c0, %c0] : memref<16x64xi8> into !amx.tile<16x64xi8>
  // CHECK: "llvm.x86.tdpbssd.internal"
  %3 = amx.tile_muli %1, %2, %0 : !amx.tile<8x64xi8>, !amx.tile<16x64xi8>, !amx.tile<8x16xi32>
  // CHECK: "llvm.x86.tdpbsud.internal"
  %4 = amx.tile_muli %1, %2 zext, %3 : !amx.tile<8x64xi8>, !amx.tile<16x64xi8>, !amx.tile<8x16xi32>
  // CHECK: "llvm.x86.tdpbuud.internal"
  %5 = amx.tile_muli %1 zext, %2 zext, %4 : !amx.tile<8x64xi8>, !amx.tile<16x64xi8>, !amx.tile<8x16xi32>
  amx.tile_store %y[%c0, %c0], %5 : memref<8x16xi32>, !amx.tile<8x16xi32>
  // CHECK: %[[S:.*]] = llvm.mul %s, %{{.*}} : i64
  // CHECK: "llvm.x86.tileloadd64.internal"(%{{.*}}, %{{.*}}, %h, %[[S]])
  %6 = amx.tile_load %h[%c0], %s : memref<512xbf16> into !amx.tile<16x32xbf16>
  %7 = amx.tile_zero : !amx.tile<16x16xf32>
  // CHECK: "llvm.x86.tdpbf16ps.internal"
  %8 = amx.tile_mulf %6, %6, %7 : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  amx.tile_store %f[%c0, %c0], %8 : memref<16x16xf32>, !amx.tile<16x16xf32>
  func.return
}
