// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// Matrix tiles, as upstream spells them; `mlir-opt` reads this file, too.

// CHECK-LABEL: func.func @bytes
func.func @bytes(%x: memref<32x128xi8>, %w: memref<32x64xi8>, %y: memref<9x16xi32>, %i: index) {
  // CHECK: amx.tile_zero : !amx.tile<9x16xi32>
  %c = amx.tile_zero : !amx.tile<9x16xi32>
  // CHECK: amx.tile_load %x[%i, %i] : memref<32x128xi8> into !amx.tile<9x64xi8>
  %a = amx.tile_load %x[%i, %i] : memref<32x128xi8> into !amx.tile<9x64xi8>
  %b = amx.tile_load %w[%i, %i] : memref<32x64xi8> into !amx.tile<16x64xi8>
  // CHECK: amx.tile_muli %a zext, %b, %c : !amx.tile<9x64xi8>, !amx.tile<16x64xi8>, !amx.tile<9x16xi32>
  %d = amx.tile_muli %a zext, %b, %c : !amx.tile<9x64xi8>, !amx.tile<16x64xi8>, !amx.tile<9x16xi32>
  // CHECK: amx.tile_muli %a, %b zext, %d
  %e = amx.tile_muli %a, %b zext, %d : !amx.tile<9x64xi8>, !amx.tile<16x64xi8>, !amx.tile<9x16xi32>
  // CHECK: amx.tile_store %y[%i, %i], %e : memref<9x16xi32>, !amx.tile<9x16xi32>
  amx.tile_store %y[%i, %i], %e : memref<9x16xi32>, !amx.tile<9x16xi32>
  func.return
}

// CHECK-LABEL: func.func @floats
func.func @floats(%x: memref<512xbf16>, %w: memref<16x32xbf16>, %y: memref<512xf32>, %i: index, %s: index) {
  %c = amx.tile_zero : !amx.tile<16x16xf32>
  // CHECK: amx.tile_load %x[%i], %s : memref<512xbf16> into !amx.tile<16x32xbf16>
  %a = amx.tile_load %x[%i], %s : memref<512xbf16> into !amx.tile<16x32xbf16>
  %b = amx.tile_load %w[%i, %i] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  // CHECK: amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  // CHECK: amx.tile_store %y[%i], %d, %s : memref<512xf32>, !amx.tile<16x16xf32>
  amx.tile_store %y[%i], %d, %s : memref<512xf32>, !amx.tile<16x16xf32>
  func.return
}
