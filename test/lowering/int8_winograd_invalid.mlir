// RUN: glow-opt --instr-to-loops='target=wasm-simd' --split-input-file --verify-diagnostics %s

// What a configuration says has to fit the target, the shapes and the packed weights.

func.func @phases(%y: memref<1x1x2x2x4xi32>, %p: memref<64xi16>, %q: memref<64xi32>, %x: memref<1x1x4x4x4xui8>, %w: memref<256xi16>, %b: memref<1x4xi32>) {
  // expected-error @below {{instr.cpu.int8_winograd_conv2d cannot have a kernel for each phase: there is one for all, fused = true}}
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 4 output_channels 4 zero_point 5 tile 2 scratch [64, 64] config #cpu.winograd_config<block_rows = 1, blocks = 1, pixels = [1]> panels #cpu.panels<blocks = 1, lanes = 4>
  func.return
}

// -----

func.func @rows(%y: memref<1x1x2x2x4xi32>, %p: memref<64xi16>, %q: memref<64xi32>, %x: memref<1x1x4x4x4xui8>, %w: memref<256xi16>, %b: memref<1x4xi32>) {
  // expected-error @below {{instr.cpu.int8_winograd_conv2d cannot have blocks of 3 rows of tiles: 1 to 1 are allowed}}
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 4 output_channels 4 zero_point 5 tile 2 scratch [64, 64] config #cpu.winograd_config<block_rows = 3, blocks = 1, pixels = [1], fused = true> panels #cpu.panels<blocks = 1, lanes = 4, by_block = true>
  func.return
}

// -----

func.func @registers(%y: memref<1x1x2x2x4xi32>, %p: memref<64xi16>, %q: memref<64xi32>, %x: memref<1x1x4x4x4xui8>, %w: memref<256xi16>, %b: memref<1x4xi32>) {
  // expected-error @below {{instr.cpu.int8_winograd_conv2d cannot have a register tile of 2 tiles and 1 blocks: the target's 14 registers and 1 tiles of a block allow 1 to 1}}
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 4 output_channels 4 zero_point 5 tile 2 scratch [64, 64] config #cpu.winograd_config<block_rows = 1, blocks = 1, pixels = [2], fused = true> panels #cpu.panels<blocks = 1, lanes = 4, by_block = true>
  func.return
}

// -----

// expected-error @below {{instr.cpu.int8_winograd_conv2d needs scratch [64, 64] on this target}}
func.func @scratch(%y: memref<1x1x2x2x4xi32>, %p: memref<32xi16>, %q: memref<64xi32>, %x: memref<1x1x4x4x4xui8>, %w: memref<256xi16>, %b: memref<1x4xi32>) {
  instr.cpu.int8_winograd_conv2d @out %y, @inout %p, @inout %q, @in %x, @in %w, @in %b input_channels 4 output_channels 4 zero_point 5 tile 2 scratch [32, 64] config #cpu.winograd_config<block_rows = 1, blocks = 1, pixels = [1], fused = true> panels #cpu.panels<blocks = 1, lanes = 4, by_block = true>
  func.return
}
