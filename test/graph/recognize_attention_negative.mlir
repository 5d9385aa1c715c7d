// RUN: glow-opt --recognize-attention %s | filecheck %s

// The scores, the shares have other readers.
// CHECK-LABEL: func.func @other_uses(
// CHECK-NEXT: %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: %u = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %r = glow.softmax %u axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %z = glow.matmul %r, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y, %z, %s, %r : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x5xf32>
func.func @other_uses(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x5xf32>) {
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  %u = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %r = glow.softmax %u axis 3 : tensor<1x2x4x5xf32>
  %z = glow.matmul %r, %v : tensor<1x2x4x6xf32>
  func.return %y, %z, %s, %r : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x5xf32>
}

// Shares of queries instead of keys; a scale after the mask; a vector of scales.
// CHECK-LABEL: func.func @other_functions(
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %s0 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p0 = glow.softmax %s0 axis 2 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y0 = glow.matmul %p0, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: %s1 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %a1 = glow.add %s1, %m : tensor<1x2x4x5xf32>
// CHECK-NEXT: %b1 = glow.mul %a1, %half : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p1 = glow.softmax %b1 axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y1 = glow.matmul %p1, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: %s2 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %b2 = glow.mul %s2, %c : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p2 = glow.softmax %b2 axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y2 = glow.matmul %p2, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y0, %y1, %y2 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>
func.func @other_functions(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<1x2x4x5xf32>, %c: tensor<5xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) {
  %half = glow.splat 0.5 : tensor<f32>
  %s0 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %p0 = glow.softmax %s0 axis 2 : tensor<1x2x4x5xf32>
  %y0 = glow.matmul %p0, %v : tensor<1x2x4x6xf32>
  %s1 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %a1 = glow.add %s1, %m : tensor<1x2x4x5xf32>
  %b1 = glow.mul %a1, %half : tensor<1x2x4x5xf32>
  %p1 = glow.softmax %b1 axis 3 : tensor<1x2x4x5xf32>
  %y1 = glow.matmul %p1, %v : tensor<1x2x4x6xf32>
  %s2 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %b2 = glow.mul %s2, %c : tensor<1x2x4x5xf32>
  %p2 = glow.softmax %b2 axis 3 : tensor<1x2x4x5xf32>
  %y2 = glow.matmul %p2, %v : tensor<1x2x4x6xf32>
  func.return %y0, %y1, %y2 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>
}

// A mask that makes more scores; keys that are no transpose; values to be transposed.
// CHECK-LABEL: func.func @other_shapes(
// CHECK-NEXT: %s0 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %a0 = glow.add %s0, %m : tensor<3x2x4x5xf32>
// CHECK-NEXT: %p0 = glow.softmax %a0 axis 3 : tensor<3x2x4x5xf32>
// CHECK-NEXT: %y0 = glow.matmul %p0, %v : tensor<3x2x4x6xf32>
// CHECK-NEXT: %s1 = glow.matmul %q, %n : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p1 = glow.softmax %s1 axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y1 = glow.matmul %p1, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: %s2 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
// CHECK-NEXT: %p2 = glow.softmax %s2 axis 3 : tensor<1x2x4x5xf32>
// CHECK-NEXT: %y2 = glow.matmul %p2, %w transpose_rhs : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y0, %y1, %y2 : tensor<3x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>
func.func @other_shapes(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<3x2x4x5xf32>, %n: tensor<1x2x8x5xf32>, %w: tensor<1x2x6x5xf32>) -> (tensor<3x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) {
  %s0 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %a0 = glow.add %s0, %m : tensor<3x2x4x5xf32>
  %p0 = glow.softmax %a0 axis 3 : tensor<3x2x4x5xf32>
  %y0 = glow.matmul %p0, %v : tensor<3x2x4x6xf32>
  %s1 = glow.matmul %q, %n : tensor<1x2x4x5xf32>
  %p1 = glow.softmax %s1 axis 3 : tensor<1x2x4x5xf32>
  %y1 = glow.matmul %p1, %v : tensor<1x2x4x6xf32>
  %s2 = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %p2 = glow.softmax %s2 axis 3 : tensor<1x2x4x5xf32>
  %y2 = glow.matmul %p2, %w transpose_rhs : tensor<1x2x4x6xf32>
  func.return %y0, %y1, %y2 : tensor<3x2x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>
}

// Sums that are stored wider than the operands.
// CHECK-LABEL: func.func @other_types(
// CHECK-NEXT: %s = glow.matmul %q, %k transpose_rhs : tensor<4x5xf32>
// CHECK-NEXT: %p = glow.softmax %s axis 1 : tensor<4x5xf32>
// CHECK-NEXT: %y = glow.matmul %p, %v : tensor<4x6xf32>
// CHECK-NEXT: func.return %y : tensor<4x6xf32>
func.func @other_types(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>, %v: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %s = glow.matmul %q, %k transpose_rhs : tensor<4x5xf32>
  %p = glow.softmax %s axis 1 : tensor<4x5xf32>
  %y = glow.matmul %p, %v : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// The scale is a number of f32.
// CHECK-LABEL: func.func @of_doubles(
// CHECK-NEXT: %s = glow.matmul %q, %q transpose_rhs : tensor<4x4xf64>
// CHECK-NEXT: %p = glow.softmax %s axis 1 : tensor<4x4xf64>
// CHECK-NEXT: %y = glow.matmul %p, %q : tensor<4x8xf64>
// CHECK-NEXT: func.return %y : tensor<4x8xf64>
func.func @of_doubles(%q: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %s = glow.matmul %q, %q transpose_rhs : tensor<4x4xf64>
  %p = glow.softmax %s axis 1 : tensor<4x4xf64>
  %y = glow.matmul %p, %q : tensor<4x8xf64>
  func.return %y : tensor<4x8xf64>
}

// A row that is masked as a whole has equal weights, which sums with -1e9 do not give.
// CHECK-LABEL: func.func @empty_row(
// CHECK-NOT: glow.attention
// CHECK-LABEL: func.func @computed_condition(
func.func @empty_row(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x6xf32>) -> tensor<1x2x2x6xf32> {
  %low = glow.splat -1.0e9 : tensor<f32>
  %c = glow.constant dense<[[false, false], [true, true]]> : tensor<2x2xi1>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x2x2xf32>
  %a = glow.select %c, %s, %low : tensor<1x2x2x2xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x2x2xf32>
  %y = glow.matmul %p, %v : tensor<1x2x2x6xf32>
  func.return %y : tensor<1x2x2x6xf32>
}
func.func @computed_condition(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x6xf32>, %c: tensor<2x2xi1>) -> tensor<1x2x2x6xf32> {
  %low = glow.splat -1.0e9 : tensor<f32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x2x2xf32>
  %a = glow.select %c, %s, %low : tensor<1x2x2x2xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x2x2xf32>
  %y = glow.matmul %p, %v : tensor<1x2x2x6xf32>
  func.return %y : tensor<1x2x2x6xf32>
}

// Something else reads the scaled keys.
// CHECK-LABEL: func.func @scaled_keys_read(
// CHECK: %y = glow.attention %q, %u, %v : tensor<1x2x4x6xf32>
func.func @scaled_keys_read(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x5x8xf32>) {
  %half = glow.splat 0.5 : tensor<f32>
  %u = glow.mul %k, %half : tensor<1x2x5x8xf32>
  %s = glow.matmul %q, %u transpose_rhs : tensor<1x2x4x5xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y, %u : tensor<1x2x4x6xf32>, tensor<1x2x5x8xf32>
}
