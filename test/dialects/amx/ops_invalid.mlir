// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: a tile has 1 to 16 rows
func.func @f(%x: !amx.tile<17x64xi8>) {
  func.return
}

// -----

// CHECK: a row has words of 4 bytes, up to 64
func.func @f(%x: !amx.tile<16x66xi8>) {
  func.return
}

// -----

// CHECK: no tile has i16
func.func @f(%x: !amx.tile<16x16xi16>) {
  func.return
}

// -----

func.func @f(%x: memref<8x64xi8>, %i: index) {
  // CHECK: requires 2 indices
  %a = amx.tile_load %x[%i] : memref<8x64xi8> into !amx.tile<8x64xi8>
  func.return
}

// -----

func.func @f(%x: memref<512xi8>, %i: index) {
  // CHECK: requires at least 2D memref
  %a = amx.tile_load %x[%i] : memref<512xi8> into !amx.tile<8x64xi8>
  func.return
}

// -----

func.func @f(%x: memref<8x64xi8>, %t: !amx.tile<8x16xi32>, %i: index) {
  // CHECK: the elements differ in type
  amx.tile_store %x[%i, %i], %t : memref<8x64xi8>, !amx.tile<8x16xi32>
  func.return
}

// -----

func.func @f(%a: !amx.tile<8x64xi8>, %b: !amx.tile<8x64xi8>, %c: !amx.tile<8x16xi32>) {
  // CHECK: bad mult shape
  %d = amx.tile_muli %a, %b, %c : !amx.tile<8x64xi8>, !amx.tile<8x64xi8>, !amx.tile<8x16xi32>
  func.return
}

// -----

func.func @f(%a: !amx.tile<8x64xi8>, %b: !amx.tile<16x64xi8>, %c: !amx.tile<8x16xf32>) {
  // CHECK: bytes are multiplied, sums are i32
  %d = amx.tile_muli %a, %b, %c : !amx.tile<8x64xi8>, !amx.tile<16x64xi8>, !amx.tile<8x16xf32>
  func.return
}

// -----

func.func @f(%a: !amx.tile<8x64xi8>, %b: !amx.tile<16x64xi8>, %c: !amx.tile<8x16xf32>) {
  // CHECK: floats of 16 bits are multiplied
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<8x64xi8>, !amx.tile<16x64xi8>, !amx.tile<8x16xf32>
  func.return
}

// -----

func.func @f(%a: !amx.tile<8x32xbf16>, %b: !amx.tile<16x32xbf16>, %c: !amx.tile<8x16xi32>) {
  // CHECK: sums are f32
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<8x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<8x16xi32>
  func.return
}
