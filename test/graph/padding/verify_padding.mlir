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
