// RUN: glow-opt --verify-padding --split-input-file %s | filecheck %s

// Rows are computed from rows: the padding of the batch goes through.
// CHECK-LABEL: @rows
// CHECK-SAME: -> (tensor<8x2xf32> {glow.padded_axes = array<i64: 0>})
func.func @rows(%x: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %y = glow.matmul %x, %w : tensor<8x2xf32>
  %z = glow.softmax %y axis 1 : tensor<8x2xf32>
  func.return %z : tensor<8x2xf32>
}

// -----

// A mask that is added: what is behind the end has no share after the softmax.
// CHECK-LABEL: @attention
// CHECK-SAME: -> (tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>})
func.func @attention(%x: tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>}, %mask: tensor<2x8xi64> {glow.padded_axes = array<i64: 1>}) -> tensor<2x8x4xf32> {
  %row = glow.reshape %mask : tensor<2x1x8xi64>
  %float = glow.convert %row : tensor<2x1x8xf32>
  %one = glow.splat 1.0 : tensor<f32>
  %hidden = glow.sub %one, %float : tensor<2x1x8xf32>
  %lowest = glow.splat -1.0e4 : tensor<f32>
  %added = glow.mul %hidden, %lowest : tensor<2x1x8xf32>
  %scores = glow.matmul %x, %x transpose_rhs : tensor<2x8x8xf32>
  %masked = glow.add %scores, %added : tensor<2x8x8xf32>
  %shares = glow.softmax %masked axis 2 : tensor<2x8x8xf32>
  %y = glow.matmul %shares, %x : tensor<2x8x4xf32>
  func.return %y : tensor<2x8x4xf32>
}

// -----

// The same as one node, and a mask that selects.
// CHECK-LABEL: @attention_node
// CHECK-SAME: -> (tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>})
func.func @attention_node(%x: tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>}, %mask: tensor<2x8xi1> {glow.padded_axes = array<i64: 1>}) -> tensor<2x8x4xf32> {
  %row = glow.reshape %mask : tensor<2x1x8xi1>
  %zero = glow.splat 0.0 : tensor<f32>
  %lowest = glow.splat 0xFF800000 : tensor<f32>
  %added = glow.select %row, %zero, %lowest : tensor<2x1x8xf32>
  %y = glow.attention %x, %x, %x, %added scale 0.5 : tensor<2x8x4xf32>
  func.return %y : tensor<2x8x4xf32>
}

// -----

// Later words do not see padding: it is behind them.
// CHECK-LABEL: @causal
// CHECK-SAME: -> (tensor<3x4xf32> {glow.padded_axes = array<i64: 0>})
func.func @causal(%x: tensor<3x4xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<3x4xf32> {
  %later = glow.constant dense<[[0.0, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0]]> : tensor<3x3xf32> {glow.padded_axes = array<i64: 0, 1>}
  %scores = glow.matmul %x, %x transpose_rhs : tensor<3x3xf32>
  %masked = glow.add %scores, %later : tensor<3x3xf32>
  %shares = glow.softmax %masked axis 1 : tensor<3x3xf32>
  %y = glow.matmul %shares, %x : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// A mean that counts: nothing is added behind the end, and no division by zero.
// CHECK-LABEL: @mean
// CHECK-SAME: -> tensor<2x4xf32>
func.func @mean(%x: tensor<2x8x4xf32> {glow.padded_axes = array<i64: 1>}, %mask: tensor<2x8x1xf32> {glow.padded_axes = array<i64: 1>}) -> tensor<2x4xf32> {
  %kept = glow.mul %x, %mask : tensor<2x8x4xf32>
  %sum = glow.reduce_sum %kept axes [1] : tensor<2x4xf32>
  %count = glow.reduce_sum %mask axes [1] : tensor<2x1xf32>
  %some = glow.clip %count low 1.0e-9 high 1.0e9 : tensor<2x1xf32>
  %mean = glow.div %sum, %some : tensor<2x4xf32>
  func.return %mean : tensor<2x4xf32>
}

// -----

// Merged with another axis and taken apart again; the first word is always there; a table is
// looked up along another axis.
// CHECK-LABEL: @shapes
// CHECK-SAME: -> (tensor<2x8x3xf32> {glow.padded_axes = array<i64: 1>}, tensor<2x1x3xf32>)
func.func @shapes(%ids: tensor<2x8xi64> {glow.padded_axes = array<i64: 1>}, %table: tensor<9x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x8x3xf32>, tensor<2x1x3xf32>) {
  %words = glow.gather %table, %ids : tensor<2x8x4xf32>
  %rows = glow.reshape %words : tensor<16x4xf32>
  %product = glow.matmul %rows, %w : tensor<16x3xf32>
  %again = glow.reshape %product : tensor<2x8x3xf32>
  %first = glow.slice %again starts [0, 0, 0] sizes [2, 1, 3] steps [1, 1, 1] : tensor<2x1x3xf32>
  func.return %again, %first : tensor<2x8x3xf32>, tensor<2x1x3xf32>
}

// -----

// A mask that is repeated for each word, and a normalization over other axes.
// CHECK-LABEL: @repeated
// CHECK-SAME: -> (tensor<8x8xf32> {glow.padded_axes = array<i64: 0, 1>})
func.func @repeated(%mask: tensor<1x8xf32> {glow.padded_axes = array<i64: 1>}, %x: tensor<8x4xf32> {glow.padded_axes = array<i64: 0>}, %scale: tensor<4xf32>) -> tensor<8x8xf32> {
  %all = glow.broadcast %mask {glow.padded_axes = array<i64: 0>} : tensor<8x8xf32>
  %normal = glow.layer_norm %x, %scale axis 1 : tensor<8x4xf32>
  %scores = glow.matmul %normal, %normal transpose_rhs : tensor<8x8xf32>
  %y = glow.mul %scores, %all : tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}

// -----

// A past that is padded at its front: new keys are joined to it, and the mask hides what is before.
// CHECK-LABEL: @past
// CHECK-SAME: -> (tensor<1x4xf32>, tensor<9x4xf32> {glow.front_padded_axes = array<i64: 0>})
func.func @past(%x: tensor<1x4xf32>, %keys: tensor<8x4xf32> {glow.front_padded_axes = array<i64: 0>}, %mask: tensor<9xi1> {glow.front_padded_axes = array<i64: 0>}) -> (tensor<1x4xf32>, tensor<9x4xf32>) {
  %all = glow.concat %keys, %x axis 0 : tensor<9x4xf32>
  %zero = glow.splat 0.0 : tensor<f32>
  %lowest = glow.splat -3.0e38 : tensor<f32>
  %added = glow.select %mask, %zero, %lowest : tensor<9xf32>
  %row = glow.reshape %added : tensor<1x9xf32>
  %y = glow.attention %x, %all, %all, %row : tensor<1x4xf32>
  func.return %y, %all : tensor<1x4xf32>, tensor<9x4xf32>
}

// -----

// A causal mask is the same for its last rows and columns.
// CHECK-LABEL: @causal_past
// CHECK-SAME: -> tensor<2x4xf32>
func.func @causal_past(%x: tensor<2x4xf32>, %keys: tensor<2x4xf32> {glow.front_padded_axes = array<i64: 0>}, %mask: tensor<1x4xf32> {glow.front_padded_axes = array<i64: 1>}) -> tensor<2x4xf32> {
  %all = glow.concat %keys, %x axis 0 : tensor<4x4xf32>
  %later = glow.constant dense<[[0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf32> {glow.front_padded_axes = array<i64: 1>}
  %one = glow.splat 1.0 : tensor<f32>
  %hidden = glow.sub %mask, %one : tensor<1x4xf32>
  %large = glow.splat 1.0e5 : tensor<f32>
  %low = glow.mul %hidden, %large : tensor<1x4xf32>
  %both = glow.add %low, %later : tensor<2x4xf32>
  %scores = glow.matmul %x, %all transpose_rhs : tensor<2x4xf32>
  %masked = glow.add %scores, %both : tensor<2x4xf32>
  %shares = glow.softmax %masked axis 1 : tensor<2x4xf32>
  %y = glow.matmul %shares, %all : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// Places that the mask counts: zeros at the front add nothing. The last element is always there.
// CHECK-LABEL: @places
// CHECK-SAME: -> (tensor<8x2xf32> {glow.front_padded_axes = array<i64: 0>}, tensor<1x2xf32>)
func.func @places(%mask: tensor<8xi64> {glow.front_padded_axes = array<i64: 0>}, %table: tensor<99x2xf32>) -> (tensor<8x2xf32>, tensor<1x2xf32>) {
  %places = glow.cumulative %mask kind "sum" axis 0 : tensor<8xi64>
  %rows = glow.gather %table, %places : tensor<8x2xf32>
  %last = glow.slice %rows starts [7, 0] sizes [1, 2] steps [1, 1] : tensor<1x2xf32>
  func.return %rows, %last : tensor<8x2xf32>, tensor<1x2xf32>
}

// -----

// Sums that begin at the end do not meet what is before the front; a longer part of a table is
// padded with its elements.
// CHECK-LABEL: @backwards
// CHECK-SAME: -> (tensor<8xf32> {glow.front_padded_axes = array<i64: 0>})
func.func @backwards(%x: tensor<8xf32> {glow.front_padded_axes = array<i64: 0>}, %table: tensor<9xf32>) -> tensor<8xf32> {
  %log = glow.log %x : tensor<8xf32>
  %sums = glow.cumulative %log kind "sum" axis 0 reverse : tensor<8xf32>
  %part = glow.slice %table starts [1] sizes [8] steps [1] {glow.front_padded_axes = array<i64: 0>} : tensor<8xf32>
  %y = glow.add %sums, %part : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// What compares with a count is known to hold for all that padding adds.
// CHECK-LABEL: @counted
// CHECK-SAME: -> tensor<2x4xf32>
func.func @counted(%x: tensor<2x4xf32>, %keys: tensor<8x4xf32> {glow.front_padded_axes = array<i64: 0>}, %count: tensor<1xi64>) -> tensor<2x4xf32> {
  %places = glow.constant dense<[-7, -6, -5, -4, -3, -2, -1, 0]> : tensor<8xi64> {glow.front_padded_axes = array<i64: 0>}
  %first = glow.neg %count : tensor<1xi64>
  %hidden = glow.less %places, %first {glow.true_in_padding} : tensor<8xi1>
  %zero = glow.splat 0.0 : tensor<f32>
  %lowest = glow.splat -3.0e38 : tensor<f32>
  %added = glow.select %hidden, %lowest, %zero : tensor<8xf32>
  %row = glow.reshape %added : tensor<1x8xf32>
  %y = glow.attention %x, %keys, %keys, %row : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// Distances, of which padding has more at both ends, are moved to where words meet.
// CHECK-LABEL: @distances
// CHECK-SAME: -> (tensor<4x4xf32> {glow.padded_axes = array<i64: 0, 1>})
func.func @distances(%q: tensor<4x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<4x4xf32> {
  %table = glow.constant dense<0.5> : tensor<7x3xf32> {glow.around_padded_axes = array<i64: 0>}
  %keys = glow.transpose %table permutation [1, 0] : tensor<3x7xf32>
  %x = glow.matmul %q, %keys : tensor<4x7xf32>
  %0 = glow.pad %x pads [0, 1, 0, 0] : tensor<4x8xf32>
  %1 = glow.reshape %0 : tensor<8x4xf32>
  %2 = glow.slice %1 starts [1, 0] sizes [7, 4] steps [1, 1] : tensor<7x4xf32>
  %3 = glow.reshape %2 : tensor<4x7xf32>
  %y = glow.slice %3 starts [0, 0] sizes [4, 4] steps [1, 1] : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// What a table of positions meets tells how long it is.
// CHECK-LABEL: @positions
// CHECK-SAME: -> (tensor<8x3xf32> {glow.padded_axes = array<i64: 0>})
func.func @positions(%x: tensor<8x3xf32> {glow.padded_axes = array<i64: 0>}) -> tensor<8x3xf32> {
  %table = glow.constant dense<0.5> : tensor<8x3xf32> {glow.padded_axes = array<i64: 0>, glow.padded_per_step = array<i64: 0>}
  %y = glow.add %x, %table : tensor<8x3xf32>
  func.return %y : tensor<8x3xf32>
}
