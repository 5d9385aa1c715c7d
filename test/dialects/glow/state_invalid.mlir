// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @initial_value() {
  // expected-error @+1 {{the initial value has type tensor<1xi64>, the variable tensor<1xf32>}}
  "glow.variable"() <{variable = @w, value = dense<3> : tensor<1xi64>}> : () -> tensor<1xf32>
  func.return
}

// -----

func.func @dynamic_variable() {
  // expected-error @+1 {{a variable must be a tensor of static shape, not tensor<?xf32>}}
  %w = glow.variable @w : tensor<?xf32>
  func.return
}

// -----

func.func @quantized_variable() {
  // expected-error @+1 {{a variable cannot have quantized elements}}
  %w = glow.variable @w : tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return
}

// -----

func.func @reads_of_two_types() {
  %w = glow.variable @w : tensor<4xf32>
  // expected-error @+1 {{variable 'w' is tensor<4xf32> above, here tensor<5xf32>}}
  %v = glow.variable @w : tensor<5xf32>
  func.return
}

// -----

func.func @two_initial_values() {
  %w = glow.variable @w : tensor<1xf32>
  // expected-error @+1 {{variable 'w' has another initial value above}}
  %v = glow.variable @w initial dense<1.0> : tensor<1xf32>
  func.return
}

// -----

func.func @save_of_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{the function has no variable 'w'}}
  glow.save %x, @w
  func.return
}

// -----

func.func @save_of_another_type(%x: tensor<4xf32>) {
  %w = glow.variable @w : tensor<5xf32>
  // expected-error @+1 {{variable 'w' is tensor<5xf32>, not tensor<4xf32>}}
  glow.save %x, @w
  func.return
}

// -----

func.func @two_saves(%x: tensor<4xf32>) {
  %w = glow.variable @w : tensor<4xf32>
  glow.save %x, @w
  // expected-error @+1 {{variable 'w' is saved twice}}
  glow.save %w, @w
  func.return
}

// -----

func.func @save_in_a_branch(%x: tensor<4xf32>, %c: i1) {
  %w = glow.variable @w : tensor<4xf32>
  scf.if %c {
    // expected-error @+1 {{variable 'w' is saved in a branch or loop; a save stands at the top level}}
    glow.save %x, @w
  }
  func.return
}
