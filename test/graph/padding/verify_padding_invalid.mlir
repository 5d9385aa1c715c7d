// RUN: glow-opt --verify-padding --verify-diagnostics --split-input-file %s

func.func @mean(%x: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<4xf32> {
  // expected-error @+1 {{padding changes results: glow.reduce_mean reduces axis 0, which is padded}}
  %y = glow.reduce_mean %x axes [0] : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @softmax(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2x8xf32> {
  // expected-error @+1 {{glow.softmax normalizes over what is not masked of axis 1}}
  %y = glow.softmax %x axis 1 : tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// -----

// The mask is of the other axis.
func.func @wrong_mask(%x: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}, %mask: tensor<8x1xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<8x8xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %hidden = glow.sub %mask, %one : tensor<8x1xf32>
  %big = glow.splat 1.0e9 : tensor<f32>
  %added = glow.mul %hidden, %big : tensor<8x1xf32>
  %scores = glow.matmul %x, %x transpose_rhs : tensor<8x8xf32>
  %masked = glow.add %scores, %added : tensor<8x8xf32>
  // expected-error @+1 {{glow.softmax normalizes over what is not masked of axis 1}}
  %y = glow.softmax %masked axis 1 : tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}

// -----

func.func @unmasked(%x: tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{glow.attention normalizes over what is not masked of axis 1}}
  %y = glow.attention %x, %x, %x : tensor<2x8x4xf32>
  func.return %y : tensor<2x8x4xf32>
}

// -----

func.func @convolution(%x: tensor<1x3x8x8xf32> {glow.padded_axes = array<i64: 2>}, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x7x6xf32> {
  %z = glow.sigmoid %x : tensor<1x3x8x8xf32>
  // expected-error @+1 {{glow.conv2d computes across axis 2}}
  %y = glow.conv2d %z, %w pads [0, 0, 1, 0] : tensor<1x2x7x6xf32>
  func.return %y : tensor<1x2x7x6xf32>
}

// -----

func.func @recurrence(%x: tensor<8x1x3xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>, %b: tensor<1x8xf32>, %h: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  // expected-error @+1 {{glow.rnn goes on over axis 0}}
  %y, %last = glow.rnn %x, %w, %r, %b, %h : tensor<8x1x1x4xf32>, tensor<1x1x4xf32>
  func.return %last : tensor<1x1x4xf32>
}

// -----

// Behind the end the factor is zero, but the other may be NaN there.
func.func @not_a_number(%x: tensor<1x8xf32> {glow.padded_axes = array<i64: 1>}, %y: tensor<8x2xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<1x2xf32> {
  %log = glow.log %y : tensor<8x2xf32>
  // expected-error @+1 {{glow.matmul sums over axis 1}}
  %z = glow.matmul %x, %log : tensor<1x2xf32>
  func.return %z : tensor<1x2xf32>
}

// -----

func.func @weights(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}, %w: tensor<8x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{glow.matmul sums products with other elements over axis 1}}
  %y = glow.matmul %x, %w : tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// -----

func.func @joined(%x: tensor<8x2xf32> {glow.padded_axes = array<i64: 0>}, %y: tensor<8x2xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{glow.add joins other elements to those of axis 0}}
  %z = glow.add %x, %y : tensor<8x2xf32>
  func.return %z : tensor<8x2xf32>
}

// -----

func.func @last(%x: tensor<8x2xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<1x2xf32> {
  // expected-error @+1 {{glow.slice takes more than the first element of axis 0}}
  %y = glow.slice %x starts [7, 0] sizes [1, 2] steps [1, 1] : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

func.func @behind(%x: tensor<8x2xf32> {glow.padded_axes = array<i64: 0>}, %y: tensor<1x2xf32>) -> tensor<9x2xf32> {
  // expected-error @+1 {{glow.concat joins tensors along axis 0}}
  %z = glow.concat %x, %y axis 0 : tensor<9x2xf32>
  func.return %z : tensor<9x2xf32>
}

// -----

func.func @torn(%x: tensor<8x2xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<4x4xf32> {
  // expected-error @+1 {{glow.reshape tears apart or merges axis 0}}
  %y = glow.reshape %x : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Zero is not among the first rows of the table any more.
func.func @outside(%ids: tensor<8xi64> {glow.padded_axes = array<i64: 0>}, %table: tensor<9x2xf32>) -> tensor<8x2xf32> {
  %more = glow.splat 9 : tensor<i64>
  %places = glow.add %ids, %more : tensor<8xi64>
  // expected-error @+1 {{glow.gather may look up what is not there, by indices along axis 0}}
  %y = glow.gather %table, %places : tensor<8x2xf32>
  func.return %y : tensor<8x2xf32>
}

// -----

func.func @sorted(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  // expected-error @+1 {{glow.top_k sorts axis 1}}
  %y, %at = glow.top_k %x k 3 : tensor<2x3xf32>, tensor<2x3xi64>
  func.return %y, %at : tensor<2x3xf32>, tensor<2x3xi64>
}

// -----

// Nobody has said anything about it.
func.func @unknown(%x: tensor<8xi1> {glow.padded_axes = array<i64: 0>}) -> tensor<8xi64> {
  // expected-error @+1 {{glow.compact is not known to leave padding alone on axis 0}}
  %y, %count = glow.compact %x : tensor<8xi64>, tensor<i64>
  func.return %y : tensor<8xi64>
}

// -----

func.func @merged(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<16xf32> {
  %y = glow.reshape %x : tensor<16xf32>
  // expected-error @+1 {{axis 0 of result 0 has padding between elements that are kept}}
  func.return %y : tensor<16xf32>
}

// -----

// At its front a past is padded with what stands between the new key and the others.
func.func @between(%x: tensor<1x4xf32>, %keys: tensor<8x4xf32> {glow.front_padded_axes = array<i64: 0>}) -> tensor<9x4xf32> {
  // expected-error @+1 {{glow.concat joins tensors along axis 0}}
  %all = glow.concat %x, %keys axis 0 : tensor<9x4xf32>
  func.return %all : tensor<9x4xf32>
}

// -----

// The mask is padded behind its end, the keys at their front.
func.func @other_end(%x: tensor<1x4xf32>, %keys: tensor<8x4xf32> {glow.front_padded_axes = array<i64: 0>}, %mask: tensor<1x8xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<1x4xf32> {
  %scores = glow.matmul %x, %keys transpose_rhs : tensor<1x8xf32>
  // expected-error @+1 {{glow.add joins other elements to those of axis 1}}
  %masked = glow.add %scores, %mask : tensor<1x8xf32>
  %shares = glow.softmax %masked axis 1 : tensor<1x8xf32>
  %y = glow.matmul %shares, %keys : tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// -----

// The same comparison, of which nobody knows whether it holds.
func.func @uncounted(%x: tensor<2x4xf32>, %keys: tensor<8x4xf32> {glow.front_padded_axes = array<i64: 0>}, %count: tensor<1xi64>) -> tensor<2x4xf32> {
  %places = glow.constant dense<[-7, -6, -5, -4, -3, -2, -1, 0]> : tensor<8xi64> {glow.front_padded_axes = array<i64: 0>}
  %first = glow.neg %count : tensor<1xi64>
  %hidden = glow.less %places, %first : tensor<8xi1>
  %zero = glow.splat 0.0 : tensor<f32>
  %lowest = glow.splat -3.0e38 : tensor<f32>
  %added = glow.select %hidden, %lowest, %zero : tensor<8xf32>
  %row = glow.reshape %added : tensor<1x8xf32>
  // expected-error @+1 {{glow.attention normalizes over what is not masked of axis 0}}
  %y = glow.attention %x, %keys, %keys, %row : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

func.func @first(%x: tensor<8x2xf32> {glow.front_padded_axes = array<i64: 0>}) -> tensor<1x2xf32> {
  // expected-error @+1 {{glow.slice takes more than the last element of axis 0}}
  %y = glow.slice %x starts [0, 0] sizes [1, 2] steps [1, 1] : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// Nothing says that the elements before the front are zero.
func.func @sums(%x: tensor<8xf32> {glow.front_padded_axes = array<i64: 0>}) -> tensor<8xf32> {
  %cos = glow.cos %x : tensor<8xf32>
  // expected-error @+1 {{glow.cumulative begins at the padding of axis 0}}
  %y = glow.cumulative %cos kind "sum" axis 0 : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

func.func @places(%data: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}, %i: tensor<6x1xi64>, %u: tensor<6x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{glow.scatter writes at places along axis 0, which is padded}}
  %y = glow.scatter %data, %i, %u coordinates [-1, 1] reduction "add" : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// -----

func.func @around(%q: tensor<4x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<4xf32> {
  %table = glow.constant dense<0.5> : tensor<3x7xf32> {glow.around_padded_axes = array<i64: 1>}
  %x = glow.matmul %q, %table : tensor<4x7xf32>
  // expected-error @+1 {{glow.reduce_max is not known to leave padding alone around axis 1}}
  %y = glow.reduce_max %x axes [1] : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The second row would be the first one's last distances.
func.func @distances_as_they_are(%q: tensor<4x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<4x4xf32> {
  %table = glow.constant dense<0.5> : tensor<3x7xf32> {glow.around_padded_axes = array<i64: 1>}
  %x = glow.matmul %q, %table : tensor<4x7xf32>
  // expected-error @+1 {{glow.slice takes a part of axis 1}}
  %y = glow.slice %x starts [0, 0] sizes [4, 4] steps [1, 1] : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

func.func @table(%x: tensor<8x3xf32> {glow.padded_axes = array<i64: 0>}) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %table = glow.constant dense<0.5> : tensor<8x3xf32> {glow.padded_axes = array<i64: 0>, glow.padded_per_step = array<i64: 0>}
  %y = glow.add %x, %table : tensor<8x3xf32>
  // expected-error @+1 {{how much of axis 0 of result 1 is padding is not known}}
  func.return %y, %table : tensor<8x3xf32>, tensor<8x3xf32>
}
