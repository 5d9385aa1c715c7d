// RUN: glow-opt --instr-to-loops='target=wasm-simd' --verify-loops %s | filecheck %s

// One work item goes through all phases.
// CHECK-LABEL: func.func private @int8_winograd_
// CHECK-SAME: (%0: memref<1x1x2x2x4xi32>, %1: memref<1x16x1x4xi16>, %2: memref<1x1x16x1x4xi32>, %3: memref<1x1x4x4x4xi8>, %4: memref<256xi16>, %5: memref<1x4xi32>, %lo: index, %hi: index)

// Two pixels of four channels fill a register of words: down their columns first.
// CHECK: %[[A:.*]] = vector.load %3{{.*}} : memref<1x1x4x4x4xi8>, vector<8xi8>
// CHECK-NEXT: arith.extui %[[A]] : vector<8xi8> to vector<8xi16>
// CHECK: arith.subi {{.*}} : vector<8xi16>
// CHECK: arith.addi {{.*}} : vector<8xi16>
// Then along two rows, whose columns are brought together.
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 8, 9, 10, 11] : vector<8xi16>, vector<8xi16>
// CHECK: vector.shuffle {{.*}} [4, 5, 6, 7, 12, 13, 14, 15] : vector<8xi16>, vector<8xi16>
// CHECK: vector.store {{.*}}, %1{{.*}} : memref<1x16x1x4xi16>, vector<4xi16>

// Products of pairs of channels, at each position.
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<1x1x4xi32>)
// CHECK: vector.transfer_read %1{{.*}} : memref<1x16x1x4xi16>, vector<1x2xi16>
// CHECK: vector.transfer_read {{.*}} : memref<1x1x16x2x1x4x2xi16>, vector<1x4x2xi16>
// CHECK: vector.contract
// CHECK: vector.transfer_write {{.*}}, %2

// Outputs in 32 bits, four times too large; no float is computed.
// CHECK: vector.load %2{{.*}} : memref<1x1x16x1x4xi32>, vector<4xi32>
// CHECK: arith.shrsi {{.*}} : vector<4xi32>
// CHECK-NOT: f32
// CHECK: vector.transfer_write {{.*}} : vector<2x4xi32>, memref<1x1x2x2x4xi32>
func.func @main(%y: memref<1x1x2x2x4xi32>, %p: memref<64xi16>, %q: memref<64xi32>, %x: memref<1x1x4x4x4xui8>, %w: memref<256xi16>, %b: memref<1x4xi32>) attributes {glow.arena_bytes = 0 : i64} {
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 4 output_channels 4 zero_point 5 tile 2 scratch [64, 64] config #cpu.winograd_config<block_rows = 1, blocks = 1, pixels = [1], fused = true> panels #cpu.panels<blocks = 1, lanes = 4, by_block = true>
  func.return
}
