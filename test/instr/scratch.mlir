// RUN: glow-opt --glow-to-instr --verify-instr %s | filecheck %s --check-prefix=FRESH
// RUN: glow-opt --glow-to-instr --schedule-for-memory --eliminate-copies --eliminate-dead-stores --stack-data-parallel --share-buffers --plan-memory --verify-instr %s | filecheck %s

// Scratch memory lives for one instruction, so the next one gets the same place.

// FRESH: %0 = instr.alloc : memref<64xf32>
// FRESH-NEXT: %1 = instr.alloc : memref<32xf32>
// FRESH-NEXT: %2 = instr.alloc : memref<16xf32>
// FRESH-NEXT: instr.cpu.winograd_conv2d @out %y, @inout %0, @inout %1, @inout %2, @in %f, @in %x, @in %w, @in %b
// FRESH-NEXT: instr.dealloc %0
// FRESH-NEXT: instr.dealloc %1
// FRESH-NEXT: instr.dealloc %2

// CHECK: %0 = instr.alloc offset [[P:[0-9]+]] : memref<64xf32>
// CHECK-NEXT: %1 = instr.alloc offset [[Q:[0-9]+]] : memref<32xf32>
// CHECK-NEXT: %2 = instr.alloc offset [[R:[0-9]+]] : memref<16xf32>
// CHECK-NEXT: instr.cpu.winograd_conv2d @out %y, @inout %0, @inout %1, @inout %2, @in %f, @in %x
// CHECK: %3 = instr.alloc offset [[P]] : memref<64xf32>
// CHECK-NEXT: %4 = instr.alloc offset [[Q]] : memref<32xf32>
// CHECK-NEXT: %5 = instr.alloc offset [[R]] : memref<16xf32>
// CHECK-NEXT: instr.cpu.winograd_conv2d @out %result0, @inout %3, @inout %4, @inout %5, @in %f, @in %y
func.func @main(%x: tensor<1x1x8x8x16xf32>, %f: tensor<1x16xf32>, %w: tensor<4096xf32>, %b: tensor<1x16xf32>) -> tensor<1x1x4x4x16xf32> {
  %y = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 16] : tensor<1x1x6x6x16xf32>
  %z = cpu.winograd_conv2d %f, %y, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 16] : tensor<1x1x4x4x16xf32>
  %unused = cpu.winograd_conv2d %f, %x, %w, %b input_channels 16 output_channels 16 tile 2 scratch [64, 32, 16] : tensor<1x1x6x6x16xf32>
  func.return %z : tensor<1x1x4x4x16xf32>
}
