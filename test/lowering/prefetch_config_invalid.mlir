// RUN: glow-opt --instr-to-loops='target=avx512' --split-input-file --verify-diagnostics %s

// How far ahead weights are fetched has bounds, and stands where they are fetched.

func.func @far(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have a prefetch of 9: 0 to 8 are allowed}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 3, prefetch = 9> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @negative(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{prefetch must not be negative, as -1 is}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 3, prefetch = -1> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @order(%x: memref<1x1x14x14x16xf32>, %w: memref<6912xf32>, %b: memref<3x16xf32>, %y: memref<1x3x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.conv2d cannot have a prefetch of 2: no weights are fetched ahead in the order rows}}
  instr.cpu.conv2d @out %y, @in %x, @in %w, @in %b input_channels 16 output_channels 48 config #cpu.conv_config<blocks = 2, pixels = [12, 12], sides = [12, 12], prefetch = 2> panels #cpu.panels<blocks = 2, lanes = 16> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}
