// RUN: glow-opt --instr-to-loops='target=avx512' --split-input-file --verify-diagnostics %s

// What a configuration says has to fit the target, the plane and the packed weights.

func.func @pixels(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have a tile of 15 pixels and 2 blocks: the target's 32 registers and 12 pixels of a row allow 1 to 12 pixels}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [15, 14], sides = [12, 12]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @registers(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{the target's 32 registers and 14 pixels of a row allow 1 to 14 pixels}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [15, 12], whole_rows = true> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @sides(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have a tile of 13 pixels and 2 blocks: the target's 32 registers and 12 pixels of a column at a border allow 1 to 12 pixels}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 12], sides = [13, 12]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @parts(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have 1 sizes of tiles of a row: 3 blocks of channels in tiles of 2 want 2}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12], sides = [12, 12]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @order(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have the order columns: there are rows, channels, shared_rows}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 12], sides = [12, 12], order = columns> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @segments(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have 13 segments: a row has 12 pixels}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 12], sides = [12, 12], segments = 13> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @lanes(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have panels of 8 lanes: a register of the target has 16}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 12], sides = [12, 12]> panels #cpu.panels<blocks = 2, lanes = 8> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @panels(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{a tile of 3 blocks cannot read panels of 2: the weights would have to be packed anew}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 3, pixels = [8], sides = [8]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @zero(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{pixels must be positive, not 0}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 0], sides = [12, 12]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @whole(%x: memref<1x1x14x40x16xf32>, %w: memref<10752xf32>, %b: memref<2x16xf32>, %y: memref<1x2x14x40x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have whole rows in tiles of 1 pixels: only floats have them, where at most 16 of a row's tiles reach its borders}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 32 config #cpu.conv_config<blocks = 2, pixels = [1], whole_rows = true> panels #cpu.panels<blocks = 2, lanes = 16> kernel [1, 21] pads [0, 10, 0, 10]
  func.return
}

// -----

func.func @lists(%t: memref<35xi32>, %x: memref<1x1x4x4x16xf32>, %w: memref<512xf32>, %b: memref<2x16xf32>, %y: memref<1x2x4x4x16xf32>) {
  // expected-error @below {{instr.cpu.sparse_conv2d cannot have tiles of 2 blocks: its lists are for 1}}
  instr.cpu.sparse_conv2d @out %y, @in %t, @in %x, @in %w, @in %b input_channels 16 output_channels 32 tile_blocks 1 entries [32] config #cpu.conv_config<blocks = 2, pixels = [4]> panels #cpu.panels<blocks = 2, lanes = 16> kernel [1, 1]
  func.return
}

// -----

func.func @unknown(%x: memref<1x1x14x14x16xf32>, %w: memref<512xf32>, %b: memref<2x16xf32>, %y: memref<1x2x14x14x16xf32>) {
  // expected-error @below {{cpu.conv_config has no 'columns': there are blocks, pixels, sides, whole_rows, order, segments}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 32 config #cpu.conv_config<blocks = 2, columns = 3> panels #cpu.panels<blocks = 2, lanes = 16> kernel [1, 1]
  func.return
}

// -----

func.func @lacking(%x: memref<1x1x14x14x16xf32>, %w: memref<512xf32>, %b: memref<2x16xf32>, %y: memref<1x2x14x14x16xf32>) {
  // expected-error @below {{cpu.conv_config lacks pixels}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 32 config #cpu.conv_config<blocks = 2> panels #cpu.panels<blocks = 2, lanes = 16> kernel [1, 1]
  func.return
}

// -----

func.func @chunk(%x: memref<1x2x14x14x16xf32>, %w: memref<9216xf32>, %b: memref<2x16xf32>, %y: memref<1x2x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have a chunk of 2 blocks: channels must be whole blocks, and more of them than a chunk has, not 2}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 32 output_channels 32 config #cpu.conv_config<blocks = 2, pixels = [14], whole_rows = true, chunk = 2> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @rows(%x: memref<1x2x14x14x16xf32>, %w: memref<9216xf32>, %b: memref<2x16xf32>, %y: memref<1x2x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have 15 rows that go together: there are 14}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 32 output_channels 32 config #cpu.conv_config<blocks = 2, pixels = [14], whole_rows = true, rows = 15, chunk = 1> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}
