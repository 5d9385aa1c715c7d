// RUN: glow-opt --instr-to-threads='target=sm_90' %s | filecheck %s
// RUN: glow-opt --instr-to-threads='target=sm_75' %s | filecheck %s --check-prefix=ITEMS

// A softmax is a kernel for many threads, in a module; equal instructions share one.
// CHECK:      gpu.module @[[SOFTMAX:.*]]_module {
// CHECK-NEXT:   gpu.func @[[SOFTMAX]](
// CHECK-SAME:   kernel
// CHECK:          gpu.thread_id
// CHECK:          gpu.block_id
// CHECK:          gpu.shuffle
// CHECK:          gpu.return
// CHECK-NOT:  gpu.module

// What has no such kernel has that of the CPU, whose items threads share.
// CHECK:      func.func private @cumulative_{{.*}}(%{{.*}}: memref<{{.*}}>, %{{.*}}: memref<{{.*}}>, %lo: index, %hi: index)

// A GPU without cp.async has no others.
// ITEMS-NOT:  gpu.module
// ITEMS:      func.func private @softmax_
// ITEMS:      func.func private @cumulative_
// ITEMS-NOT:  gpu.module

func.func @main(%x: memref<8x1000xf32>, %image: memref<1x4x8x8xf32>, %y: memref<8x1000xf32>, %sums: memref<1x4x8x8xf32>) attributes {glow.input_count = 2 : i64, glow.arena_bytes = 32000 : i64} {
  %0 = instr.alloc offset 0 : memref<8x1000xf32>
  instr.softmax @out %0, @in %x axis 1
  instr.softmax @out %y, @in %0 axis 1
  instr.dealloc %0
  instr.cumulative @out %sums, @in %image kind "sum" axis 2
  func.return
}
