// REQUIRES: mlir-opt
// RUN: glow-opt %S/../dialects/gpu/wgmma.mlir | MLIR_OPT | filecheck %s
// RUN: glow-opt --mlir-print-op-generic %S/../dialects/gpu/wgmma.mlir | MLIR_OPT | filecheck %s

// Upstream reads products of warpgroups, an instruction at a time, as we print them.

// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: builtin.unrealized_conversion_cast
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 8, k = 32>, D[<s32>, <one>{{.*}}], A[<u8>, <one>, <row>], B[<s8>, <one>, <col>]
// CHECK: nvvm.wgmma.mma_async {{.*}}A[<bf16>, <one>, <row>]
// CHECK: nvvm.wgmma.mma_async {{.*}}A[<tf32>, <one>, <row>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
