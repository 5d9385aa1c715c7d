// RUN: glow-opt --recognize-attention %s | filecheck %s

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %y = glow.attention %q, %k, %v : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @plain(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) -> tensor<1x2x4x6xf32> {
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// The keys of an attention with heads, a scale that divides, a mask for each key.
// CHECK-LABEL: func.func @as_exported(
// CHECK-NEXT: %0 = glow.transpose %k permutation [0, 2, 1, 3] : tensor<1x2x5x8xf32>
// CHECK-NEXT: %y = glow.attention %q, %0, %v, %m scale 2.500000e-01 : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @as_exported(%q: tensor<1x2x4x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<1x1x1x5xf32>) -> tensor<1x2x4x6xf32> {
  %root = glow.constant dense<4.0> : tensor<f32>
  %t = glow.transpose %k permutation [0, 2, 3, 1] : tensor<1x2x8x5xf32>
  %s = glow.matmul %q, %t : tensor<1x2x4x5xf32>
  %c = glow.div %s, %root : tensor<1x2x4x5xf32>
  %a = glow.add %c, %m : tensor<1x2x4x5xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// A transposition is all that makes the keys; the factor and the mask stand first.
// CHECK-LABEL: func.func @other_order(
// CHECK-NEXT: %y = glow.attention %q, %k, %v, %m scale 5.000000e-01 : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @other_order(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<1x2x4x5xf32>) -> tensor<1x2x4x6xf32> {
  %factor = glow.splat 0.5 : tensor<f32>
  %t = glow.transpose %k permutation [0, 1, 3, 2] : tensor<1x2x8x5xf32>
  %s = glow.matmul %q, %t : tensor<1x2x4x5xf32>
  %c = glow.mul %factor, %s : tensor<1x2x4x5xf32>
  %a = glow.add %m, %c : tensor<1x2x4x5xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// The root of the scale on both sides, before and behind transpositions.
// CHECK-LABEL: func.func @scaled_operands(
// CHECK-NEXT: %{{.*}} = glow.transpose %q permutation [0, 2, 1, 3] : tensor<1x2x4x8xf32>
// CHECK-NEXT: %{{.*}} = glow.transpose %k permutation [0, 2, 1, 3] : tensor<1x2x5x8xf32>
// CHECK-NEXT: %y = glow.attention %{{.*}}, %{{.*}}, %v scale 2.500000e-01 : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @scaled_operands(%q: tensor<1x4x2x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x2x5x6xf32>) -> tensor<1x2x4x6xf32> {
  %root = glow.splat 0.5 : tensor<f32>
  %r = glow.mul %q, %root : tensor<1x4x2x8xf32>
  %h = glow.transpose %r permutation [0, 2, 1, 3] : tensor<1x2x4x8xf32>
  %t = glow.transpose %k permutation [0, 2, 3, 1] : tensor<1x2x8x5xf32>
  %u = glow.mul %root, %t : tensor<1x2x8x5xf32>
  %s = glow.matmul %h, %u : tensor<1x2x4x5xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// CHECK-LABEL: func.func @scaled_keys(
// CHECK-NEXT: %{{.*}} = glow.transpose %k permutation [0, 2, 1, 3] : tensor<1x2x5x8xf32>
// CHECK-NEXT: %y = glow.attention %q, %{{.*}}, %v scale 5.000000e-01 : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @scaled_keys(%q: tensor<1x2x4x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x2x5x6xf32>) -> tensor<1x2x4x6xf32> {
  %half = glow.splat 0.5 : tensor<f32>
  %u = glow.mul %k, %half : tensor<1x5x2x8xf32>
  %t = glow.transpose %u permutation [0, 2, 1, 3] : tensor<1x2x5x8xf32>
  %s = glow.matmul %q, %t transpose_rhs : tensor<1x2x4x5xf32>
  %p = glow.softmax %s axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// Scores vanish beside the number that a computed condition takes instead of them.
// CHECK-LABEL: func.func @selected(
// CHECK-NEXT: %low = glow.splat -3.402823{{[0-9]*}}e+38 : tensor<f32>
// CHECK-NEXT: %[[ZERO:.*]] = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %[[MASK:.*]] = glow.select %c, %low, %[[ZERO]] : tensor<1x1x1x5xf32>
// CHECK-NEXT: %y = glow.attention %q, %k, %v, %[[MASK]] : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @selected(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %c: tensor<1x1x1x5xi1>) -> tensor<1x2x4x6xf32> {
  %low = glow.splat -3.402823e+38 : tensor<f32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %a = glow.select %c, %low, %s : tensor<1x2x4x5xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x4x5xf32>
  %y = glow.matmul %p, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// No row is masked as a whole: what stands for the scores of its keys only must be low.
// CHECK-LABEL: func.func @causal(
// CHECK: %[[MASK:.*]] = glow.select %c, %{{.*}}, %low : tensor<2x2xf32>
// CHECK-NEXT: %y = glow.attention %q, %k, %v, %[[MASK]] : tensor<1x2x2x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x2x6xf32>
func.func @causal(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x6xf32>) -> tensor<1x2x2x6xf32> {
  %low = glow.splat -1.0e9 : tensor<f32>
  %c = glow.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x2x2xf32>
  %a = glow.select %c, %s, %low : tensor<1x2x2x2xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x2x2xf32>
  %y = glow.matmul %p, %v : tensor<1x2x2x6xf32>
  func.return %y : tensor<1x2x2x6xf32>
}

// Weights that are 0 where they are NaN.
// CHECK-LABEL: func.func @guarded(
// CHECK: %[[Y:.*]] = glow.attention %q, %k, %v, %m : tensor<1x2x4x6xf32>
// CHECK-NEXT: %[[ZERO:.*]] = glow.splat 0.000000e+00 : tensor<f32>
// CHECK-NEXT: %[[NAN:.*]] = glow.is_nan %[[Y]] : tensor<1x2x4x6xi1>
// CHECK-NEXT: %y = glow.select %[[NAN]], %[[ZERO]], %[[Y]] : tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x6xf32>
func.func @guarded(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<4x5xf32>) -> tensor<1x2x4x6xf32> {
  %zero = glow.splat 0.0 : tensor<f32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x2x4x5xf32>
  %a = glow.add %s, %m : tensor<1x2x4x5xf32>
  %p = glow.softmax %a axis 3 : tensor<1x2x4x5xf32>
  %n = glow.is_nan %p : tensor<1x2x4x5xi1>
  %w = glow.select %n, %zero, %p : tensor<1x2x4x5xf32>
  %y = glow.matmul %w, %v : tensor<1x2x4x6xf32>
  func.return %y : tensor<1x2x4x6xf32>
}

// A bias for each head, and a mask for each window, two of each of three images.
// CHECK-LABEL: func.func @windows(
// CHECK: %[[WIDE:.*]] = glow.broadcast %m : tensor<3x2x1x4x4xf32>
// CHECK-NEXT: %[[MASK:.*]] = glow.reshape %[[WIDE]] : tensor<6x1x4x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = glow.add %b, %[[MASK]] : tensor<6x5x4x4xf32>
// CHECK-NEXT: %y = glow.attention %q, %k, %v, %[[SUM]] : tensor<6x5x4x7xf32>
// CHECK-NEXT: func.return %y : tensor<6x5x4x7xf32>
func.func @windows(%q: tensor<6x5x4x8xf32>, %k: tensor<6x5x4x8xf32>, %v: tensor<6x5x4x7xf32>, %b: tensor<1x5x4x4xf32>, %m: tensor<2x1x4x4xf32>) -> tensor<6x5x4x7xf32> {
  %s = glow.matmul %q, %k transpose_rhs : tensor<6x5x4x4xf32>
  %a = glow.add %s, %b : tensor<6x5x4x4xf32>
  %r = glow.reshape %a : tensor<3x2x5x4x4xf32>
  %c = glow.add %r, %m : tensor<3x2x5x4x4xf32>
  %t = glow.reshape %c : tensor<6x5x4x4xf32>
  %p = glow.softmax %t axis 3 : tensor<6x5x4x4xf32>
  %y = glow.matmul %p, %v : tensor<6x5x4x7xf32>
  func.return %y : tensor<6x5x4x7xf32>
}

// A mask that repeats along a part of an axis has no shape of its own there.
// CHECK-LABEL: func.func @parted(
// CHECK-NOT: glow.attention
func.func @parted(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x7xf32>, %m: tensor<3x1x4x4xf32>) -> tensor<2x3x4x7xf32> {
  %s = glow.matmul %q, %k transpose_rhs : tensor<2x3x4x4xf32>
  %r = glow.reshape %s : tensor<3x2x4x4xf32>
  %c = glow.add %r, %m : tensor<3x2x4x4xf32>
  %t = glow.reshape %c : tensor<2x3x4x4xf32>
  %p = glow.softmax %t axis 3 : tensor<2x3x4x4xf32>
  %y = glow.matmul %p, %v : tensor<2x3x4x7xf32>
  func.return %y : tensor<2x3x4x7xf32>
}

// Four heads read the keys and values of each of two: their queries are rows of one.
// CHECK-LABEL: func.func @shared_heads(
// CHECK-NOT: glow.broadcast %k
// CHECK: %[[Q:.*]] = glow.reshape %q : tensor<1x2x12x8xf32>
// CHECK: %[[Y:.*]] = glow.attention %[[Q]], %{{.*}}, %{{.*}}, %m : tensor<1x2x12x6xf32>
// CHECK-NEXT: %y = glow.reshape %[[Y]] : tensor<1x8x3x6xf32>
// CHECK-NEXT: func.return %y : tensor<1x8x3x6xf32>
func.func @shared_heads(%q: tensor<1x8x3x8xf32>, %k: tensor<1x2x1x9x8xf32>, %v: tensor<1x2x1x9x6xf32>, %m: tensor<1x1x1x9xf32>) -> tensor<1x8x3x6xf32> {
  %0 = glow.broadcast %k : tensor<1x2x4x9x8xf32>
  %1 = glow.reshape %0 : tensor<1x8x9x8xf32>
  %2 = glow.broadcast %v : tensor<1x2x4x9x6xf32>
  %3 = glow.reshape %2 : tensor<1x8x9x6xf32>
  %y = glow.attention %q, %1, %3, %m : tensor<1x8x3x6xf32>
  func.return %y : tensor<1x8x3x6xf32>
}

// A number for each pair of queries and keys is repeated; those of heads are as they lie.
// CHECK-LABEL: func.func @shared_heads_masks(
// CHECK: %[[WIDE:.*]] = glow.broadcast %{{.*}} : tensor<1x1x4x3x9xf32>
// CHECK-NEXT: %[[M:.*]] = glow.reshape %[[WIDE]] : tensor<1x1x12x9xf32>
// CHECK: glow.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[M]] : tensor<1x2x12x8xf32>
// CHECK: %[[N:.*]] = glow.reshape %n : tensor<1x2x12x9xf32>
// CHECK: glow.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[N]] : tensor<1x2x12x8xf32>
func.func @shared_heads_masks(%q: tensor<1x8x3x8xf32>, %k: tensor<1x2x1x9x8xf32>, %m: tensor<3x9xf32>, %n: tensor<1x8x3x9xf32>) -> (tensor<1x8x3x8xf32>, tensor<1x8x3x8xf32>) {
  %0 = glow.broadcast %k : tensor<1x2x4x9x8xf32>
  %1 = glow.reshape %0 : tensor<1x8x9x8xf32>
  %y = glow.attention %q, %1, %1, %m : tensor<1x8x3x8xf32>
  %z = glow.attention %q, %1, %1, %n : tensor<1x8x3x8xf32>
  func.return %y, %z : tensor<1x8x3x8xf32>, tensor<1x8x3x8xf32>
}
