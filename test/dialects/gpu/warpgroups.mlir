// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// Copies of tiles and products of warpgroups, as upstream spells them; `mlir-opt` reads this file,
// too.

!tile = memref<1x64x64xbf16, strided<[4096, 64, 1], offset: ?>, 3 : i64>
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x64x64xbf16, 3 : i64>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = 3 : i64, num_barriers = 2>
!factor = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3 : i64>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @kernels {
  "memref.global"() <{sym_name = "tiles", type = memref<2x64x64xbf16, 3 : i64>, initial_value, sym_visibility = "private", alignment = 1024 : i64}> : () -> ()
  // CHECK: gpu.func @f(%x: memref<1x80x72xbf16>, %map: !nvgpu.tensormap.descriptor<tensor = memref<1x64x64xbf16, 3 : i64>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>)
  gpu.func @f(%x: memref<1x80x72xbf16>, %map: !map) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 8192 : index
    %parity = arith.constant false
    %tiles = memref.get_global @tiles : memref<2x64x64xbf16, 3 : i64>
    %tile = memref.subview %tiles[%c1, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xbf16, 3 : i64> to !tile
    // CHECK: %full = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3 : i64, num_barriers = 2>
    %full = nvgpu.mbarrier.create -> !barriers
    // CHECK: nvgpu.mbarrier.init %full[%c0], %c1 : !nvgpu.mbarrier.group
    nvgpu.mbarrier.init %full[%c0], %c1 : !barriers
    // CHECK: nvvm.fence.mbarrier.init
    nvvm.fence.mbarrier.init
    gpu.barrier
    // CHECK: nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !nvgpu.mbarrier.group
    nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !barriers
    // CHECK: nvgpu.tma.async.load %map[%c0, %c1, %c0], %full[%c0] to %tile : !nvgpu.tensormap.descriptor<{{.*}}>, !nvgpu.mbarrier.group<{{.*}}> -> memref<1x64x64xbf16, strided<[4096, 64, 1], offset: ?>, 3 : i64>
    nvgpu.tma.async.load %map[%c0, %c1, %c0], %full[%c0] to %tile : !map, !barriers -> !tile
    // CHECK: nvgpu.tma.async.load %map[%c0, %c1, %c0], %full[%c0] to %tile, predicate = %parity :
    nvgpu.tma.async.load %map[%c0, %c1, %c0], %full[%c0] to %tile, predicate = %parity : !map, !barriers -> !tile
    // CHECK: nvgpu.mbarrier.try_wait.parity %full[%c0], %parity, %bytes : !nvgpu.mbarrier.group
    nvgpu.mbarrier.try_wait.parity %full[%c0], %parity, %bytes : !barriers
    // CHECK: %a = nvgpu.warpgroup.generate.descriptor %tile, %map : memref<1x64x64xbf16, {{.*}}>, !nvgpu.tensormap.descriptor<{{.*}}> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3 : i64>>
    %a = nvgpu.warpgroup.generate.descriptor %tile, %map : !tile, !map -> !factor
    // CHECK: %zero = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !sums
    // CHECK: %sums = nvgpu.warpgroup.mma %a, %a, %zero : !nvgpu.warpgroup.descriptor<{{.*}}>, !nvgpu.warpgroup.descriptor<{{.*}}>, !nvgpu.warpgroup.accumulator<{{.*}}> -> !nvgpu.warpgroup.accumulator<{{.*}}>
    %sums = nvgpu.warpgroup.mma %a, %a, %zero : !factor, !factor, !sums -> !sums
    // CHECK: nvgpu.warpgroup.mma %a, %a, %sums {waitGroup = 0 : i64}
    %total = nvgpu.warpgroup.mma %a, %a, %sums {waitGroup = 0 : i64} : !factor, !factor, !sums -> !sums
    // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
    nvvm.wgmma.wait.group.sync.aligned 0
    // CHECK: %token = nvgpu.mbarrier.arrive %full[%c1] : !nvgpu.mbarrier.group<{{.*}}> -> !nvgpu.mbarrier.token
    %token = nvgpu.mbarrier.arrive %full[%c1] : !barriers -> !nvgpu.mbarrier.token
    // CHECK: builtin.unrealized_conversion_cast %total : !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>> to vector<8x2x2xf32>
    %v = builtin.unrealized_conversion_cast %total : !sums to vector<8x2x2xf32>
    gpu.return
  }
}
