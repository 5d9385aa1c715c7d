// REQUIRES: mlir-opt
// RUN: glow-opt %S/../dialects/gpu/ops.mlir | MLIR_OPT | filecheck %s
// RUN: glow-opt --mlir-print-op-generic %S/../dialects/gpu/ops.mlir | MLIR_OPT | filecheck %s

// Upstream reads kernels for many threads as we print them.

// CHECK: gpu.func @f({{.*}}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>}
// CHECK: gpu.thread_id x
// CHECK: nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<64x64xf16> to memref<64x32xf16, 3>
// CHECK: nvgpu.device_async_create_group
// CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 1 : i32}
// CHECK: gpu.barrier
// CHECK: nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = false} : memref<64x32xf16, 3> -> vector<4x2xf16>
// CHECK: nvgpu.mma.sync{{.*}} {mmaShape = [16, 8, 16]}
// CHECK: gpu.shuffle xor
