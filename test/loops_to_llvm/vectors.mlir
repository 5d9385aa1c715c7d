// RUN: glow-opt -p loops-to-llvm{target=avx512} %s | filecheck %s

// A row of 24 lanes is 16 + 8 lanes, of any element type.
// CHECK-LABEL: llvm.func @odd_row
func.func @odd_row(%x: memref<24xi8>, %y: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: llvm.load {{.*}} -> vector<16xi8>
  // CHECK: llvm.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
  // CHECK: llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<8xi8>
  // CHECK: llvm.sitofp {{.*}} : vector<8xi8> to vector<8xf32>
  %v = vector.load %x[%c0] : memref<24xi8>, vector<24xi8>
  %f = arith.sitofp %v : vector<24xi8> to vector<24xf32>
  vector.store %f, %y[%c0] : memref<24xf32>, vector<24xf32>
  func.return
}

// A reduction is a tree of shuffles.
// CHECK-LABEL: llvm.func @sum
func.func @sum(%x: memref<4xf32>, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
  // CHECK:      llvm.shufflevector {{.*}} [0, 1]
  // CHECK-NEXT: llvm.shufflevector {{.*}} [2, 3]
  // CHECK-NEXT: llvm.fadd {{.*}} : vector<2xf32>
  // CHECK-NEXT: llvm.shufflevector {{.*}} [0]
  // CHECK-NEXT: llvm.shufflevector {{.*}} [1]
  // CHECK-NEXT: llvm.fadd {{.*}} : vector<1xf32>
  // CHECK-NEXT: llvm.extractelement
  %s = vector.reduction <add>, %v : vector<4xf32> into f32
  memref.store %s, %y[%c0] : memref<1xf32>
  func.return
}

// A transposing read is a butterfly: n rows, n * log2(n) shuffles.
// CHECK-LABEL: llvm.func @transpose
func.func @transpose(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  // CHECK-COUNT-4: llvm.load
  // CHECK-COUNT-8: llvm.shufflevector
  // CHECK-NOT: llvm.shufflevector
  %v = vector.transfer_read %x[%c0, %c0], %z
    {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>}
    : memref<4x4xf32>, vector<4x4xf32>
  // CHECK-COUNT-4: llvm.store
  vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
    : vector<4x4xf32>, memref<4x4xf32>
  func.return
}

// Rows are lists: extracting and inserting them emits nothing.
// CHECK-LABEL: llvm.func @rows
func.func @rows(%x: memref<2x16xf32>, %y: memref<2x16xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0, %c0] : memref<2x16xf32>, vector<2x16xf32>
  %a = vector.extract %v[0] : vector<16xf32> from vector<2x16xf32>
  %w = vector.insert %a, %v[1] : vector<16xf32> into vector<2x16xf32>
  // CHECK: %[[A:.*]] = llvm.load %x
  // CHECK: llvm.store %[[A]], %y
  // CHECK: llvm.store %[[A]]
  vector.store %w, %y[%c0, %c0] : memref<2x16xf32>, vector<2x16xf32>
  func.return
}

// Elements of a vector, and a vector of them, as mlir-opt --canonicalize writes these.
// CHECK-LABEL: llvm.func @elements
func.func @elements(%x: memref<2x3xf32>, %y: memref<2x3xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0, %c0] : memref<2x3xf32>, vector<2x3xf32>
  // CHECK-COUNT-6: llvm.extractelement
  %e:6 = vector.to_elements %v : vector<2x3xf32>
  // CHECK-COUNT-6: llvm.insertelement
  %w = vector.from_elements %e#5, %e#4, %e#3, %e#2, %e#1, %e#0 : vector<2x3xf32>
  vector.store %w, %y[%c0, %c0] : memref<2x3xf32>, vector<2x3xf32>
  func.return
}

// Rows under another shape are cut where their parts are asked for.
// CHECK-LABEL: llvm.func @parts
func.func @parts(%x: memref<2x8xi32>, %y: memref<4x4xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %v = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<2x8xi32>, vector<2x8xi32>
  // CHECK: llvm.shufflevector %{{.*}} [0, 1, 2, 3]
  // CHECK: llvm.shufflevector %{{.*}} [4, 5, 6, 7]
  %w = vector.shape_cast %v : vector<2x8xi32> to vector<4x4xi32>
  vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xi32>, memref<4x4xi32>
  func.return
}
