// RUN: glow-opt --instr-to-loops='target=avx512' --split-input-file --verify-diagnostics %s

// What a configuration says has to fit the target, the product and the packed weights.

func.func @rows(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have a tile of 40 rows and 3 blocks: the target's 32 registers and 20 rows of the product allow 1 to 8 rows}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 40, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @lanes(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have panels of 8 lanes: a register of the target has 16}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 3> panels #cpu.panels<blocks = 3, lanes = 8>
  func.return
}

// -----

func.func @panels(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{a tile of 2 blocks cannot read panels of 3: the weights would have to be packed anew}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 2> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @alone(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{config and panels come together}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 2>
  func.return
}

// -----

func.func @zero(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{rows must be positive, not 0}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 0, blocks = 2> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @cut(%x: memref<20x8xf32>, %w: memref<384xf32>, %b: memref<40xf32>, %y: memref<20x40xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have the cut panels: there are auto, rows, columns}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 3, cut = panels> panels #cpu.panels<blocks = 3, lanes = 16>
  func.return
}

// -----

func.func @streams_of_panels(%x: memref<1x8xf32>, %w: memref<512xf32>, %b: memref<64xf32>, %y: memref<1x64xf32>) {
  // expected-error @below {{4 streams cannot read panels of 1: the weights would have to be packed anew}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 1, blocks = 4, streams = 4> panels #cpu.panels<blocks = 4, lanes = 16>
  func.return
}

// -----

func.func @streams_of_rows(%x: memref<20x8xf32>, %w: memref<512xf32>, %b: memref<64xf32>, %y: memref<20x64xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have 2 streams: products of one row of f32 have them}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 4, blocks = 4, streams = 2> panels #cpu.panels<blocks = 4, lanes = 16, streams = 2>
  func.return
}

// -----

func.func @streams_of_blocks(%x: memref<1x8xf32>, %w: memref<512xf32>, %b: memref<64xf32>, %y: memref<1x64xf32>) {
  // expected-error @below {{instr.cpu.matmul cannot have 3 streams: they divide the 4 blocks}}
  instr.cpu.matmul @out %y, @in %x, @in %w, @in %b config #cpu.matmul_config<rows = 1, blocks = 4, streams = 3> panels #cpu.panels<blocks = 4, lanes = 16, streams = 3>
  func.return
}
