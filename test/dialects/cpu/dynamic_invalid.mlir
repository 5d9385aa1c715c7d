// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @too_few(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{4 columns do not hold rows of 7}}
  %q, %s, %z = cpu.per_row_quantize %x columns 4 : tensor<5x4xui8>, tensor<5x1xf32>, tensor<5x1xi32>
  func.return
}

// -----

func.func @halves(%x: tensor<5x7xbf16>) {
  // expected-error @+1 {{the rows must be f32, not tensor<5x7xbf16>}}
  %q, %s, %z = cpu.per_row_quantize %x columns 8 : tensor<5x8xui8>, tensor<5x1xf32>, tensor<5x1xi32>
  func.return
}

// -----

func.func @signed(%x: tensor<5x8xf32>) {
  // expected-error @+1 {{result 0 has type tensor<5x8xi8>, but operands and attributes give tensor<5x8xui8>}}
  %q, %s, %z = cpu.per_row_quantize %x columns 8 : tensor<5x8xi8>, tensor<5x1xf32>, tensor<5x1xi32>
  func.return
}

// -----

func.func @no_columns(%x: tensor<5x8xf32>) {
  // expected-error @+1 {{cpu.per_row_quantize needs the attribute 'columns'}}
  %q, %s, %z = cpu.per_row_quantize %x : tensor<5x8xui8>, tensor<5x1xf32>, tensor<5x1xi32>
  func.return
}

// -----

func.func @ranges_of_halves(%x: tensor<5x7xbf16>) {
  // expected-error @+1 {{the rows must be f32, not tensor<5x7xbf16>}}
  %l, %h = cpu.row_range %x : tensor<5x1xf32>, tensor<5x1xf32>
  func.return
}
