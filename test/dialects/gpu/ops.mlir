// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// Kernels for many threads, as upstream spells them; `mlir-opt` reads this file, too.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    "memref.global"() <{sym_name = "tile", type = memref<64x32xf16, 3 : i64>, initial_value, sym_visibility = "private"}> : () -> ()
    // CHECK: gpu.func @f(%x: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
    gpu.func @f(%x: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      // CHECK: %i = gpu.thread_id x
      %i = gpu.thread_id x
      // CHECK: %j = gpu.block_id y
      %j = gpu.block_id y
      %tile = memref.get_global @tile : memref<64x32xf16, 3 : i64>
      // CHECK: %t = nvgpu.device_async_copy %x[%c0, %c0], %tile[%c0, %c0], 8 {bypassL1} : memref<64x64xf16> to memref<64x32xf16, 3 : i64>
      %t = nvgpu.device_async_copy %x[%c0, %c0], %tile[%c0, %c0], 8 {bypassL1} : memref<64x64xf16> to memref<64x32xf16, 3 : i64>
      // CHECK: %u = nvgpu.device_async_copy %x[%c0, %c0], %tile[%c0, %c0], 4, %c0 : memref<64x64xf16> to memref<64x32xf16, 3 : i64>
      %u = nvgpu.device_async_copy %x[%c0, %c0], %tile[%c0, %c0], 4, %c0 : memref<64x64xf16> to memref<64x32xf16, 3 : i64>
      // CHECK: %g = nvgpu.device_async_create_group %t, %u
      %g = nvgpu.device_async_create_group %t, %u
      // CHECK: %none = nvgpu.device_async_create_group {}
      %none = nvgpu.device_async_create_group {}
      // CHECK: nvgpu.device_async_wait %g {numGroups = 1 : i32}
      nvgpu.device_async_wait %g {numGroups = 1 : i32}
      // CHECK: nvgpu.device_async_wait %g
      nvgpu.device_async_wait %g
      // CHECK: gpu.barrier
      gpu.barrier
      // CHECK: %a = nvgpu.ldmatrix %tile[%c0, %c0] {transpose = false, numTiles = 4 : i32} : memref<64x32xf16, 3 : i64> -> vector<4x2xf16>
      %a = nvgpu.ldmatrix %tile[%c0, %c0] {transpose = false, numTiles = 4 : i32} : memref<64x32xf16, 3 : i64> -> vector<4x2xf16>
      %b = nvgpu.ldmatrix %tile[%c0, %c0] {transpose = true, numTiles = 2 : i32} : memref<64x32xf16, 3 : i64> -> vector<2x2xf16>
      %c = arith.constant dense<0.0> : vector<2x2xf32>
      // CHECK: %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16 : i64, 8 : i64, 16 : i64]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %p = arith.constant dense<0.0> : vector<4x1xf32>
      %q = arith.constant dense<0.0> : vector<2x1xf32>
      // CHECK: nvgpu.mma.sync(%p, %q, %c) {mmaShape = [16 : i64, 8 : i64, 8 : i64], tf32Enabled}
      %r = nvgpu.mma.sync(%p, %q, %c) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
      %one = arith.constant 1.0 : f32
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      // CHECK: %y, %valid = gpu.shuffle xor %one, %offset, %width : f32
      %y, %valid = gpu.shuffle xor %one, %offset, %width : f32
      // CHECK: gpu.return
      gpu.return
    }
  }
}
