// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @batch_axes(%x: tensor<2x3xf32>, %i: tensor<3x1xi64>) {
  // expected-error @+1 {{do not fit tensor<2x3xf32> with 1 batch axes}}
  %0 = glow.gather_nd %x, %i batch_dims 1 : tensor<3xf32>
  func.return
}

// -----

func.func @reduction(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{unknown reduction 'mean', expected none, add, mul, max, min}}
  %0 = glow.scatter %x, %i, %u coordinates [-1, 1] reduction "mean" : tensor<2x3xf32>
  func.return
}

// -----

func.func @updates(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %u: tensor<4x3xi32>) {
  // expected-error @+1 {{updates tensor<4x3xi32> do not suit tensor<2x3xf32> with reduction 'none'}}
  %0 = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<2x3xf32>
  func.return
}

// -----

func.func @coordinates(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %u: tensor<4x4xf32>) {
  // expected-error @+1 {{coordinates [-1, 1] do not lead from updates}}
  %0 = glow.scatter %x, %i, %u coordinates [-1, 1] : tensor<2x3xf32>
  func.return
}

// -----

func.func @bits(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{glow.bitwise_not needs integers, not f32}}
  %0 = glow.bitwise_not %x : tensor<2x3xf32>
  func.return
}

// -----

func.func @shift(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.shift_left needs integers, not i1}}
  %0 = glow.shift_left %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @bitcast(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{the bits of tensor<2x3xf32> are not those of tensor<2x3xi64>}}
  %0 = glow.bitcast %x : tensor<2x3xi64>
  func.return
}

// -----

func.func @cumulative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{unknown kind 'mean', expected sum, prod}}
  %0 = glow.cumulative %x kind "mean" axis 0 : tensor<2x3xf32>
  func.return
}

// -----

func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{there are no 4 of 3 elements along the last axis}}
  %0, %1 = glow.top_k %x k 4 : tensor<2x4xf32>, tensor<2x4xi64>
  func.return
}

// -----

func.func @top_k_of_a_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{tensor<f32> has no axis to sort}}
  %0, %1 = glow.top_k %x k 1 : tensor<1xf32>, tensor<1xi64>
  func.return
}

// -----

func.func @not_square(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{tensor<2x3xf32> is not one of square matrices}}
  %0, %1 = glow.lu %x : tensor<2x3xf32>, tensor<f32>
  func.return
}

// -----

func.func @flags(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{flags must be i1 along one axis, not tensor<2x3xi1>}}
  %0, %1 = glow.compact %x : tensor<6xi64>, tensor<i64>
  func.return
}

// -----

func.func @boxes(%b: tensor<1x3x5xf32>, %o: tensor<1x2x3xi64>, %v: tensor<1x2x3xi1>, %t: tensor<f32>) {
  // expected-error @+1 {{and threshold tensor<f32> do not agree}}
  %0, %1 = glow.select_boxes %b, %o, %v, %t limit 2 : tensor<1x2x2xi64>, tensor<1x2xi64>
  func.return
}

// -----

func.func @limit(%b: tensor<1x3x4xf32>, %o: tensor<1x2x3xi64>, %v: tensor<1x2x3xi1>, %t: tensor<f32>) {
  // expected-error @+1 {{limit is -1, less than 0}}
  %0, %1 = glow.select_boxes %b, %o, %v, %t limit -1 : tensor<1x2x0xi64>, tensor<1x2xi64>
  func.return
}
