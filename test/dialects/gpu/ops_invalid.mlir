// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

func.func @f(%x: memref<8x8xf32>, %s: memref<8x8xf32>, %i: index) {
  // CHECK: the target is not in shared memory
  %t = nvgpu.device_async_copy %x[%i, %i], %s[%i, %i], 4 : memref<8x8xf32> to memref<8x8xf32>
  func.return
}

// -----

func.func @f(%x: memref<8x8xf16>, %s: memref<8x8xf32, 3>, %i: index) {
  // CHECK: the elements differ in type
  %t = nvgpu.device_async_copy %x[%i, %i], %s[%i, %i], 4 : memref<8x8xf16> to memref<8x8xf32, 3>
  func.return
}

// -----

func.func @f(%x: memref<8x8xf32>, %s: memref<8x8xf32, 3>, %i: index) {
  // CHECK: expected 2 indices
  %t = nvgpu.device_async_copy %x[%i], %s[%i, %i], 4 : memref<8x8xf32> to memref<8x8xf32, 3>
  func.return
}

// -----

func.func @f(%x: memref<8x8xf16>, %s: memref<8x8xf16, 3>, %i: index) {
  // CHECK: copies 4, 8 or 16 bytes, not 2
  %t = nvgpu.device_async_copy %x[%i, %i], %s[%i, %i], 1 : memref<8x8xf16> to memref<8x8xf16, 3>
  func.return
}

// -----

func.func @f(%x: memref<8x8xf16>, %s: memref<8x8xf16, 3>, %i: index) {
  // CHECK: bypassL1 needs 16 bytes, not 8
  %t = nvgpu.device_async_copy %x[%i, %i], %s[%i, %i], 4 {bypassL1} : memref<8x8xf16> to memref<8x8xf16, 3>
  func.return
}

// -----

func.func @f(%s: memref<8x8xf16, 3>, %i: index) {
  // CHECK: numTiles is 1, 2 or 4, not 3
  %a = nvgpu.ldmatrix %s[%i, %i] {transpose = false, numTiles = 3 : i32} : memref<8x8xf16, 3> -> vector<3x2xf16>
  func.return
}

// -----

func.func @f(%s: memref<8x8xf16, 3>, %i: index) {
  // CHECK: the result has 4 x 2 elements
  %a = nvgpu.ldmatrix %s[%i, %i] {transpose = false, numTiles = 4 : i32} : memref<8x8xf16, 3> -> vector<2x2xf16>
  func.return
}

// -----

func.func @f(%s: memref<8x8xf32, 3>, %i: index) {
  // CHECK: transpose needs elements of 16 bits
  %a = nvgpu.ldmatrix %s[%i, %i] {transpose = true, numTiles = 4 : i32} : memref<8x8xf32, 3> -> vector<4x1xf32>
  func.return
}

// -----

func.func @f(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  // CHECK: no shape (16, 8, 8) of 16 bits
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return
}

// -----

func.func @f(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) {
  // CHECK: factors of 32 bits need tf32Enabled
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return
}

// -----

func.func @f(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  // CHECK: a has 256 elements a warp
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return
}

// -----

gpu.module @kernels {
  // CHECK: known_block_size needs three numbers
  gpu.func @f() kernel attributes {known_block_size = array<i32: 32>} {
    gpu.return
  }
}
