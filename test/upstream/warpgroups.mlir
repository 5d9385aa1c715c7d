// REQUIRES: mlir-opt
// RUN: glow-opt %S/../dialects/gpu/warpgroups.mlir | MLIR_OPT | filecheck %s
// RUN: glow-opt --mlir-print-op-generic %S/../dialects/gpu/warpgroups.mlir | MLIR_OPT | filecheck %s

// Upstream reads copies of tiles and products of warpgroups as we print them.

// CHECK: gpu.func @f({{.*}}: !nvgpu.tensormap.descriptor<tensor = memref<1x64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>) kernel
// CHECK: nvgpu.mbarrier.create
// CHECK: nvgpu.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvgpu.mbarrier.arrive.expect_tx
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.tma.async.load {{.*}}, predicate =
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.warpgroup.generate.descriptor
// CHECK: nvgpu.warpgroup.mma.init.accumulator
// CHECK: nvgpu.warpgroup.mma
// CHECK: nvgpu.warpgroup.mma {{.*}} {waitGroup = 0 : i64}
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: nvgpu.mbarrier.arrive
// CHECK: builtin.unrealized_conversion_cast
