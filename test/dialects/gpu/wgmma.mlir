// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// Products of warpgroups, an instruction at a time, as upstream spells them; `mlir-opt` reads this
// file, too.

!bytes = !llvm.struct<(i32, i32, i32, i32)>
!floats = !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>

gpu.module @kernels {
  "memref.global"() <{sym_name = "tile", type = memref<64x128xi8, 3 : i64>, initial_value, sym_visibility = "private", alignment = 1024 : i64}> : () -> ()
  gpu.func @f(%x: memref<4xi32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = memref.get_global @tile : memref<64x128xi8, 3 : i64>
    // CHECK: %place = "memref.extract_aligned_pointer_as_index"(%tile) : (memref<64x128xi8, 3 : i64>) -> index
    %place = "memref.extract_aligned_pointer_as_index"(%tile) : (memref<64x128xi8, 3 : i64>) -> index
    %a = arith.index_cast %place : index to i64
    %zeros = arith.constant dense<0> : vector<1x2x2xi32>
    %none = arith.constant dense<0.0> : vector<2x2x2xf32>
    %0 = builtin.unrealized_conversion_cast %zeros : vector<1x2x2xi32> to !bytes
    %1 = builtin.unrealized_conversion_cast %none : vector<2x2x2xf32> to !floats
    // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    // CHECK: nvvm.wgmma.fence.aligned
    nvvm.wgmma.fence.aligned
    // CHECK: %2 = nvvm.wgmma.mma_async %a, %a, %0, <m = 64, n = 8, k = 32>, D[<s32>, <one>], A[<u8>, <one>, <row>], B[<s8>, <one>, <col>] : !llvm.struct<(i32, i32, i32, i32)> -> !llvm.struct<(i32, i32, i32, i32)>
    %2 = nvvm.wgmma.mma_async %a, %a, %0, <m = 64, n = 8, k = 32>, D [<s32>, <one>], A [<u8>, <one>, <row>], B [<s8>, <one>, <col>] : !bytes -> !bytes
    // CHECK: %3 = nvvm.wgmma.mma_async %a, %a, %1, <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] :
    %3 = nvvm.wgmma.mma_async %a, %a, %1, <m = 64, n = 16, k = 16>, D [<f32>, <one>], A [<bf16>, <one>, <row>], B [<bf16>, <one>, <col>] : !floats -> !floats
    // CHECK: %4 = nvvm.wgmma.mma_async %a, %a, %3, <m = 64, n = 16, k = 8>, D[<f32>, <one>], A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>] :
    %4 = nvvm.wgmma.mma_async %a, %a, %3, <m = 64, n = 16, k = 8>, D [<f32>, <one>], A [<tf32>, <one>, <row>], B [<tf32>, <one>, <col>] : !floats -> !floats
    // CHECK: nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.commit.group.sync.aligned
    // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
    nvvm.wgmma.wait.group.sync.aligned 0
    %5 = builtin.unrealized_conversion_cast %2 : !bytes to vector<1x2x2xi32>
    gpu.return
  }
}
