// RUN: glow-opt --mask-padding --verify-diagnostics --split-input-file %s

func.func @halves(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2x16xf32> {
  // expected-error @+1 {{padding changes results: glow.concat joins tensors along axis 1, which is padded}}
  %y = glow.concat %x, %x axis 1 : tensor<2x16xf32>
  func.return %y : tensor<2x16xf32>
}

// -----

func.func @repeated(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2x10xf32> {
  // expected-error @+1 {{glow.pad repeats elements of axis 1}}
  %y = glow.pad %x pads [0, 1, 0, 1] mode "wrap" : tensor<2x10xf32>
  func.return %y : tensor<2x10xf32>
}

// -----

func.func @lstm(%x: tensor<8x1x3xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>, %b: tensor<1x16xf32>, %h: tensor<1x1x2xf32>) -> tensor<8x1x1x2xf32> {
  // expected-error @+1 {{glow.lstm begins with a state at the end of axis 0}}
  %y, %last, %cell = glow.lstm %x, %w, %r, %b, %h, %h direction "reverse" : tensor<8x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>
  func.return %y : tensor<8x1x1x2xf32>
}

// -----

func.func @rnn(%x: tensor<8x1x3xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>, %b: tensor<1x4xf32>, %h: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  // expected-error @+1 {{glow.rnn goes on over axis 0}}
  %y, %last = glow.rnn %x, %w, %r, %b, %h : tensor<8x1x1x2xf32>, tensor<1x1x2xf32>
  func.return %last : tensor<1x1x2xf32>
}

// -----

func.func @written(%data: tensor<6x4xf32>, %i: tensor<8x1xi64> {glow.padded_axes = array<i64: 0>}, %u: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<6x4xf32> {
  // expected-error @+1 {{padding changes results: glow.scatter writes the updates of axis 0, which is padded}}
  %y = glow.scatter %data, %i, %u coordinates [-1, 1] : tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// -----

func.func @count_of_nothing(%x: tensor<8x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<8x3xf32> {
  // expected-error @+1 {{glow.splat has other contents for other sizes}}
  %n = glow.splat 5.0 {glow.counts = array<f32: 2.0, 4.0>} : tensor<f32>
  %y = glow.div %x, %n : tensor<8x3xf32>
  func.return %y : tensor<8x3xf32>
}

// -----

// No mask is known for a table of positions alone.
func.func @positions(%x: tensor<8x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<8x3xf32> {
  %table = glow.constant dense<0.5> : tensor<8x3xf32> {glow.padded_axes = array<i64: 0>, glow.padded_per_step = array<i64: 0>}
  // expected-error @+1 {{how much of a constant is padding is not known}}
  %s = glow.reduce_max %table axes [0] : tensor<3xf32>
  %y = glow.add %x, %s : tensor<8x3xf32>
  func.return %y : tensor<8x3xf32>
}
