// RUN: glow-opt --instr-to-loops='target=avx512' --split-input-file --verify-diagnostics %s

// What a configuration says has to fit the target and the shapes.

func.func @rows(%a: memref<4x16x32xf32>, %b: memref<4x32x32xf32>, %y: memref<4x16x32xf32>) {
  // expected-error @below {{instr.cpu.batch_matmul cannot have a tile of 15 rows and 2 blocks: the target's 32 registers and 16 rows of the product allow 1 to 8 rows}}
  instr.cpu.batch_matmul @out %y, @in %a, @in %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.batch_matmul_config<form = direct, rows = 15, blocks = 2>
  func.return
}

// -----

func.func @form(%a: memref<4x16x32xf32>, %b: memref<4x32x32xf32>, %y: memref<4x16x32xf32>) {
  // expected-error @below {{instr.cpu.batch_matmul cannot have the form dot: how the operands lie and their sizes allow direct}}
  instr.cpu.batch_matmul @out %y, @in %a, @in %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.batch_matmul_config<form = dot, rows = 2, blocks = 2>
  func.return
}

// -----

func.func @dot(%a: memref<4x16x32xf32>, %b: memref<4x32x32xf32>, %y: memref<4x16x32xf32>) {
  // expected-error @below {{instr.cpu.batch_matmul cannot have a tile of 8 rows and 8 columns: the target's 32 registers and a product of 16 x 32 allow 1 to 2 rows}}
  instr.cpu.batch_matmul @out %y, @in %a, @in %b lhs_axes [0, 1, 2] rhs_axes [0, 2, 1] result_axes [0, 1, 2] config #cpu.batch_matmul_config<form = dot, rows = 8, blocks = 8>
  func.return
}

// -----

func.func @queries(%q: memref<2x16x32xf32>, %k: memref<2x32x24xf32>, %v: memref<2x24x32xf32>, %y: memref<2x16x32xf32>) {
  // expected-error @below {{instr.cpu.attention cannot have blocks of 9 queries: the kernel and the shapes allow 1 to 8}}
  instr.cpu.attention @out %y, @in %q, @in %k, @in %v query_axes [0, 1, 2] key_axes [0, 1, 2] value_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.attention_config<rows = 9, score_rows = 1, score_blocks = 1, value_rows = 1, value_blocks = 1>
  func.return
}

// -----

func.func @values(%q: memref<2x16x32xf32>, %k: memref<2x32x24xf32>, %v: memref<2x24x32xf32>, %y: memref<2x16x32xf32>) {
  // expected-error @below {{instr.cpu.attention cannot have a tile of 4 rows and 1 blocks: the target's 32 registers and 3 rows of the product allow 1 to 3 rows}}
  instr.cpu.attention @out %y, @in %q, @in %k, @in %v query_axes [0, 1, 2] key_axes [0, 1, 2] value_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.attention_config<rows = 3, score_rows = 1, score_blocks = 1, value_rows = 4, value_blocks = 1>
  func.return
}

// -----

func.func @panel(%q: memref<2x16x8192xui8>, %k: memref<2x8192x24xui8>, %p: memref<2xi32>, %y: memref<2x16x24xi32>) {
  // expected-error @below {{instr.cpu.int8_batch_matmul cannot have tiles of 9 blocks: panels on the stack allow 1 to 1}}
  instr.cpu.int8_batch_matmul @out %y, @in %q, @in %k, @in %p lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2] config #cpu.matmul_config<rows = 1, blocks = 9>
  func.return
}

// -----

func.func @pixels(%x: memref<1x1x14x14x16xf32>, %w: memref<1x3x3x16xf32>, %b: memref<1x16xf32>, %y: memref<1x1x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.depthwise_conv2d cannot have tiles of 13 pixels of a row: the plane and the kernel allow 1 to 12}}
  instr.cpu.depthwise_conv2d @out %y, @in %x, @in %w, @in %b config #cpu.depthwise_config<pixels = 13> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @one_by_one(%x: memref<1x1x14x14x16xf32>, %w: memref<1x3x3x16xf32>, %b: memref<1x16xf32>, %y: memref<1x1x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.depthwise_conv2d cannot have tiles of several pixels where it takes them one by one}}
  instr.cpu.depthwise_conv2d @out %y, @in %x, @in %w, @in %b config #cpu.depthwise_config<pixels = 2, by_pixel = true> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @segments(%x: memref<1x1x14x14x16xf32>, %w: memref<1x3x3x16xf32>, %b: memref<1x16xf32>, %y: memref<1x1x14x14x16xf32>) {
  // expected-error @below {{instr.cpu.depthwise_conv2d cannot have 13 segments: a row has 12 pixels}}
  instr.cpu.depthwise_conv2d @out %y, @in %x, @in %w, @in %b config #cpu.depthwise_config<pixels = 2, segments = 13> kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// -----

func.func @channels(%x: memref<1x4x66x66xf32>, %w: memref<8x4x3x3xf32>, %b: memref<8xf32>, %y: memref<1x8x64x64xf32>) {
  // expected-error @below {{instr.cpu.plain_conv2d cannot have tiles of 3 channels: 8 are no multiple}}
  instr.cpu.plain_conv2d @out %y, @in %x, @in %w, @in %b config #cpu.plain_conv_config<channels = 3, vectors = 1>
  func.return
}

// -----

func.func @vectors(%x: memref<1x4x66x66xf32>, %w: memref<8x4x3x3xf32>, %b: memref<8xf32>, %y: memref<1x8x64x64xf32>) {
  // expected-error @below {{instr.cpu.plain_conv2d cannot have a tile of 8 channels and 4 vectors: the target's 32 registers allow 1 to 3 vectors}}
  instr.cpu.plain_conv2d @out %y, @in %x, @in %w, @in %b config #cpu.plain_conv_config<channels = 8, vectors = 4>
  func.return
}
