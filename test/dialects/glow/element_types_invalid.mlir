// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @truth_abs(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.abs needs numbers, not i1}}
  %0 = glow.abs %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_relu(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.relu needs numbers, not i1}}
  %0 = glow.relu %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_clip(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.clip needs numbers, not i1}}
  %0 = glow.clip %x low 0.0 : tensor<4xi1>
  func.return
}

// -----

func.func @truth_add(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.add needs numbers, not i1}}
  %0 = glow.add %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_sub(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.sub needs numbers, not i1}}
  %0 = glow.sub %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_mul(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.mul needs numbers, not i1}}
  %0 = glow.mul %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_div(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.div needs numbers, not i1}}
  %0 = glow.div %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_pow(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.pow needs numbers, not i1}}
  %0 = glow.pow %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_mod(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.mod needs numbers, not i1}}
  %0 = glow.mod %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_fmod(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.fmod needs numbers, not i1}}
  %0 = glow.fmod %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @truth_reduce_sum(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.reduce_sum needs numbers, not i1}}
  %0 = glow.reduce_sum %x axes [0] : tensor<i1>
  func.return
}

// -----

func.func @truth_reduce_mean(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.reduce_mean needs numbers, not i1}}
  %0 = glow.reduce_mean %x axes [0] : tensor<i1>
  func.return
}

// -----

func.func @truth_reduce_prod(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.reduce_prod needs numbers, not i1}}
  %0 = glow.reduce_prod %x axes [0] : tensor<i1>
  func.return
}

// -----

func.func @truth_avg_pool2d(%x: tensor<1x1x2x2xi1>) {
  // expected-error @+1 {{glow.avg_pool2d needs numbers, not i1}}
  %0 = glow.avg_pool2d %x kernel [2, 2] : tensor<1x1x1x1xi1>
  func.return
}

// -----

func.func @truth_matmul(%x: tensor<2x2xi1>) {
  // expected-error @+1 {{glow.matmul needs numbers, not i1}}
  %0 = glow.matmul %x, %x : tensor<2x2xi1>
  func.return
}

// -----

func.func @types_matmul(%x: tensor<2x2xf32>, %y: tensor<2x2xi8>) {
  // expected-error @+1 {{operands must have one element type, not tensor<2x2xf32> and tensor<2x2xi8>}}
  %0 = glow.matmul %x, %y : tensor<2x2xf32>
  func.return
}

// -----

func.func @truth_fully_connected(%x: tensor<2x2xi1>) {
  // expected-error @+1 {{glow.fully_connected needs numbers, not i1}}
  %0 = glow.fully_connected %x, %x : tensor<2x2xi1>
  func.return
}

// -----

func.func @types_fully_connected(%x: tensor<2x2xf32>, %y: tensor<2x2xi8>) {
  // expected-error @+1 {{operands must have one element type, not tensor<2x2xf32> and tensor<2x2xi8>}}
  %0 = glow.fully_connected %x, %y : tensor<2x2xf32>
  func.return
}

// -----

func.func @truth_gemm(%x: tensor<2x2xi1>) {
  // expected-error @+1 {{glow.gemm needs numbers, not i1}}
  %0 = glow.gemm %x, %x : tensor<2x2xi1>
  func.return
}

// -----

func.func @types_gemm(%x: tensor<2x2xf32>, %y: tensor<2x2xi8>) {
  // expected-error @+1 {{operands must have one element type, not tensor<2x2xf32> and tensor<2x2xi8>}}
  %0 = glow.gemm %x, %y : tensor<2x2xf32>
  func.return
}

// -----

func.func @types_conv2d(%x: tensor<1x1x2x2xf32>, %y: tensor<1x1x2x2xf16>) {
  // expected-error @+1 {{operands must have one element type, not tensor<1x1x2x2xf32> and tensor<1x1x2x2xf16>}}
  %0 = glow.conv2d %x, %y : tensor<1x1x1x1xf32>
  func.return
}

// -----

func.func @types_conv3d(%x: tensor<1x1x2x2x2xf32>, %y: tensor<1x1x2x2x2xi8>) {
  // expected-error @+1 {{operands must have one element type, not tensor<1x1x2x2x2xf32> and tensor<1x1x2x2x2xi8>}}
  %0 = glow.conv3d %x, %y : tensor<1x1x1x1x1xf32>
  func.return
}

// -----

func.func @types_conv_transpose2d(%x: tensor<1x1x2x2xf32>, %y: tensor<1x1x2x2xf64>) {
  // expected-error @+1 {{operands must have one element type, not tensor<1x1x2x2xf32> and tensor<1x1x2x2xf64>}}
  %0 = glow.conv_transpose2d %x, %y : tensor<1x1x3x3xf32>
  func.return
}

// -----

func.func @type_of_bias(%x: tensor<1x1x2x2xf32>, %b: tensor<1xf16>) {
  // expected-error @+1 {{what is added to products of f32 must have such elements too, not tensor<1xf16>}}
  %0 = glow.conv2d %x, %x, %b : tensor<1x1x1x1xf32>
  func.return
}

// -----

func.func @type_of_addend(%x: tensor<2x2xbf16>, %b: tensor<2xf16>) {
  // expected-error @+1 {{what is added to products of bf16 must have such elements too, not tensor<2xf16>}}
  %0 = glow.gemm %x, %x, %b : tensor<2x2xbf16>
  func.return
}
// -----

func.func @elements_beside_the_axis(%x: tensor<2x3xf32>, %i: tensor<3x1xi64>) {
  // expected-error @+1 {{indices tensor<3x1xi64> do not fit into tensor<2x3xf32> beside axis 1}}
  %0 = glow.gather_elements %x, %i axis 1 : tensor<3x1xf32>
  func.return
}

// -----

func.func @types_lstm(%x: tensor<5x1x2xf32>, %w: tensor<1x12x2xf32>, %r: tensor<1x12x3xf16>, %b: tensor<1x24xf32>, %h: tensor<1x1x3xf32>) {
  // expected-error @+1 {{operands must have one element type, not f32, f32, f16, f32, f32, f32}}
  %0, %1, %2 = glow.lstm %x, %w, %r, %b, %h, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}

// -----

func.func @integers_gru(%x: tensor<5x1x2xi32>, %w: tensor<1x9x2xi32>, %r: tensor<1x9x3xi32>, %b: tensor<1x18xi32>, %h: tensor<1x1x3xi32>) {
  // expected-error @+1 {{glow.gru needs floating-point elements, not i32}}
  %0, %1 = glow.gru %x, %w, %r, %b, %h : tensor<5x1x1x3xi32>, tensor<1x1x3xi32>
  func.return
}

// -----

func.func @sizes_gru(%x: tensor<5x1x2xf32>, %w: tensor<1x9x2xf32>, %r: tensor<1x9x3xf32>, %b: tensor<1x9xf32>, %h: tensor<1x1x3xf32>) {
  // expected-error @+1 {{an operand of gru must have shape 1x18, not tensor<1x9xf32>}}
  %0, %1 = glow.gru %x, %w, %r, %b, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}
