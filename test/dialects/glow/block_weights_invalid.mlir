// RUN: glow-opt --verify-diagnostics --split-input-file %s

func.func @wide(%c: tensor<4x2xi16>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{codes have integers of 2, 4 or 8 bits, not i16}}
  %0 = glow.block_dequantize %c, %s block_size 2 : tensor<4x2xf32>
  func.return
}

// -----

func.func @floats(%c: tensor<4x2xf32>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{codes have integers of 2, 4 or 8 bits, not f32}}
  %0 = glow.block_dequantize %c, %s block_size 2 : tensor<4x2xf32>
  func.return
}

// -----

func.func @scales(%c: tensor<5x2xi4>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{blocks of 2 along axis 0 need scales of shape [3, 2], not tensor<2x2xf32>}}
  %0 = glow.block_dequantize %c, %s block_size 2 : tensor<5x2xf32>
  func.return
}

// -----

func.func @integers(%c: tensor<4x2xi4>, %s: tensor<2x2xi8>) {
  // expected-error @+1 {{glow.block_dequantize needs floating-point elements, not i8}}
  %0 = glow.block_dequantize %c, %s block_size 2 : tensor<4x2xi8>
  func.return
}

// -----

func.func @points(%c: tensor<4x2xi4>, %s: tensor<2x2xf32>, %p: tensor<2x2xui4>) {
  // expected-error @+1 {{zero points must have type tensor<2x2xi4>, not tensor<2x2xui4>}}
  %0 = glow.block_dequantize %c, %s, %p block_size 2 : tensor<4x2xf32>
  func.return
}

// -----

func.func @axis(%c: tensor<4x2xi4>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{there is no axis 2 in tensor<4x2xi4>}}
  %0 = glow.block_dequantize %c, %s axis 2 block_size 2 : tensor<4x2xf32>
  func.return
}

// -----

func.func @rows(%c: tensor<4x2xi4>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{row_bits must be 0 or 8, not 4}}
  %0 = glow.block_dequantize %c, %s block_size 2 row_bits 4 : tensor<4x2xf32>
  func.return
}

// -----

func.func @empty(%c: tensor<4x2xi4>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{blocks have at least one element, not 0}}
  %0 = glow.block_dequantize %c, %s block_size 0 : tensor<4x2xf32>
  func.return
}
