// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @narrow(%table: tensor<9x11xui8>, %indices: tensor<3xi64>) {
  // expected-error @+1 {{rows of 7 columns of 4 bits take 12 bytes, not tensor<9x11xui8>}}
  %0 = cpu.embedding_lookup %table, %indices columns 7 bits 4 : tensor<3x7xf32>
  func.return
}

// -----

func.func @odd_bits(%table: tensor<9x11xui8>, %indices: tensor<3xi64>) {
  // expected-error @+1 {{elements have 4 or 8 bits, not 2}}
  %0 = cpu.embedding_lookup %table, %indices columns 12 bits 2 : tensor<3x12xf32>
  func.return
}

// -----

func.func @float_indices(%table: tensor<9x11xui8>, %indices: tensor<3xf32>) {
  // expected-error @+1 {{indices must be integers, not tensor<3xf32>}}
  %0 = cpu.embedding_lookup %table, %indices columns 3 bits 8 : tensor<3x3xf32>
  func.return
}
