// RUN: glow-opt -p loops-to-llvm --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: loops-to-llvm: no lowering for memref.alloc (in @f)
func.func @f() {
  %x = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK: loops-to-llvm: @g has more than one result
func.func private @g() -> (f32, f32)

// -----

// CHECK: loops-to-llvm: vector.gather is lowered for all lanes of bytes alone, at places that are bytes (by arith.extui) in a table of 256
func.func @some_lanes(%t: memref<256xi8>, %x: vector<16xi8>, %m: vector<16xi1>) -> vector<16xi8> {
  %c0 = arith.constant 0 : index
  %0 = arith.extui %x : vector<16xi8> to vector<16xi32>
  %1 = vector.gather %t[%c0] [%0], %m, %x : memref<256xi8>, vector<16xi32>, vector<16xi1>, vector<16xi8> into vector<16xi8>
  func.return %1 : vector<16xi8>
}

// -----

// CHECK: loops-to-llvm: vector.gather is lowered for all lanes of bytes alone
func.func @words(%t: memref<256xi8>, %x: vector<16xi32>, %p: vector<16xi8>) -> vector<16xi8> {
  %c0 = arith.constant 0 : index
  %m = arith.constant dense<true> : vector<16xi1>
  %1 = vector.gather %t[%c0] [%x], %m, %p : memref<256xi8>, vector<16xi32>, vector<16xi1>, vector<16xi8> into vector<16xi8>
  func.return %1 : vector<16xi8>
}

// -----

// CHECK: loops-to-llvm: vector.shape_cast of vector<2x6xi8> to vector<3x4xi8> cuts no rows
func.func @across_rows(%x: memref<2x6xi8>, %y: memref<3x4xi8>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0, %c0] : memref<2x6xi8>, vector<2x6xi8>
  %v = vector.shape_cast %a : vector<2x6xi8> to vector<3x4xi8>
  vector.store %v, %y[%c0, %c0] : memref<3x4xi8>, vector<3x4xi8>
  func.return
}
