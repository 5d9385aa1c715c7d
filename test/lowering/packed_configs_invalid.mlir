// RUN: glow-opt --instr-to-loops='target=avx512' --split-input-file --verify-diagnostics %s

// What a configuration says has to fit the target, the shapes and the packed weights.

func.func @rows(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have blocks of 3 rows of tiles: 7 to 7 are allowed}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 3, blocks = 2, pixels = [7]> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

func.func @segments(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have 2 segments: blocks of 7 rows allow 1}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 7, blocks = 2, pixels = [7], segments = 2> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

func.func @empty_segments(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<1296xf32>, %f: memref<4x16xf32>, %x: memref<1x4x36x36x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x36x36x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have 4 segments: 9 tiles of a row in those of 3 are fewer}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 1296] config #cpu.winograd_config<block_rows = 1, blocks = 2, pixels = [3], segments = 4, fused = true> panels #cpu.panels<blocks = 2, lanes = 16, by_block = true>
  func.return
}

// -----

func.func @sizes(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have 2 sizes of register tiles: 4 blocks of channels in tiles of 2 want 1}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 7, blocks = 2, pixels = [7, 7]> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

func.func @registers(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have a register tile of 15 tiles and 2 blocks: the target's 32 registers and 49 tiles of a block allow 1 to 14}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 7, blocks = 2, pixels = [15]> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

func.func @blocks(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{a tile of 1 blocks cannot read panels of 2: the weights would have to be packed anew}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 7, blocks = 1, pixels = [7]> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

func.func @fused(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{fused phases want panels by_block, others do not: the weights would have to be packed anew}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 7, blocks = 2, pixels = [7], fused = true> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}

// -----

// expected-error @below {{instr.cpu.winograd_conv2d needs scratch }}
func.func @scratch(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<147456xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 1, blocks = 2, pixels = [7], fused = true> panels #cpu.panels<blocks = 2, lanes = 16, by_block = true>
  func.return
}

// -----

func.func @strassen_rows(%x: memref<128x768xf32>, %c: memref<128xf32>, %s: memref<7x64x384xf32>, %w: memref<1032192xf32>, %b: memref<768xf32>, %y: memref<128x768xf32>) {
  // expected-error @below {{instr.cpu.strassen_matmul cannot have a tile of 9 rows and 3 blocks: the target's 32 registers and 64 rows of the product allow 1 to 8 rows}}
  instr.cpu.strassen_matmul @out %y, @in %x, @in %c, @in %s, @in %w, @in %b outer [128] config #cpu.strassen_config<rows = 9, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @strassen_blocks(%x: memref<128x768xf32>, %c: memref<128xf32>, %s: memref<7x64x384xf32>, %w: memref<1032192xf32>, %b: memref<768xf32>, %y: memref<128x768xf32>) {
  // expected-error @below {{instr.cpu.strassen_matmul cannot have 1 blocks of rows: 16 tiles of rows and the scratch allow 2 to 16}}
  instr.cpu.strassen_matmul @out %y, @in %x, @in %c, @in %s, @in %w, @in %b outer [128] config #cpu.strassen_config<rows = 4, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @groups(%x: memref<2x2x48xf32>, %w: memref<2304xf32>, %h: memref<2x48xf32>, %y: memref<2x2x48xf32>) {
  // expected-error @below {{instr.cpu.recurrence cannot have groups of 2 blocks: 3 registers of units are no multiple}}
  instr.cpu.recurrence @out %y, @in %x, @in %w, @in %h gates 1 config #cpu.recurrence_config<rows = 2, blocks = 2> panels #cpu.panels<blocks = 2, lanes = 16> {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.addf %0, %1 : f32
    glow.yield %3
  }
  func.return
}

// -----

func.func @step_rows(%x: memref<2x2x48xf32>, %w: memref<2304xf32>, %h: memref<2x48xf32>, %y: memref<2x2x48xf32>) {
  // expected-error @below {{instr.cpu.recurrence cannot have a tile of 3 rows and 3 blocks: the target's 32 registers, 1 gates and 2 rows allow 1 to 2 rows}}
  instr.cpu.recurrence @out %y, @in %x, @in %w, @in %h gates 1 config #cpu.recurrence_config<rows = 3, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16> {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.addf %0, %1 : f32
    glow.yield %3
  }
  func.return
}

// -----

func.func @rows_of_groups(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<73728xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have blocks of 3 rows of tiles: groups of 7 are no multiple of it}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 group 2 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 3, blocks = 2, pixels = [7], fused = true> panels #cpu.panels<blocks = 2, lanes = 16, by_block = true>
  func.return
}

// -----

func.func @phases_of_groups(%p: memref<112896xf32>, %q: memref<112896xf32>, %s: memref<784xf32>, %f: memref<4x16xf32>, %x: memref<1x4x28x28x16xf32>, %w: memref<73728xf32>, %b: memref<4x16xf32>, %y: memref<1x4x28x28x16xf32>) {
  // expected-error @below {{instr.cpu.winograd_conv2d cannot have a kernel for each phase: there is one for all groups, fused = true}}
  instr.cpu.winograd_conv2d @out %y, @inout %p, @inout %q, @inout %s, @in %f, @in %x, @in %w, @in %b input_channels 64 output_channels 64 group 2 pads [1, 1, 1, 1] tile 4 scratch [112896, 112896, 784] config #cpu.winograd_config<block_rows = 14, blocks = 2, pixels = [7]> panels #cpu.panels<blocks = 2, lanes = 16>
  func.return
}
