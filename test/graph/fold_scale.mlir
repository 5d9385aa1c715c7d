// RUN: glow-opt --fold-scale --canonicalize %s | filecheck %s

// CHECK-LABEL: func.func @queries(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}1.250000e-01, 2.500000e-01], [3.750000e-01, 5.000000e-01]]> : tensor<2x2xf32>
// CHECK-NEXT: %m = glow.matmul %x, %0 : tensor<1x4x2xf32>
// CHECK-NEXT: %1 = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %a = glow.add %m, %1 : tensor<1x4x2xf32>
// CHECK-NEXT: %q = glow.reshape %a : tensor<1x1x4x2xf32>
// CHECK-NEXT: %s = glow.matmul %q, %k transpose_rhs : tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %s : tensor<1x1x4x4xf32>
func.func @queries(%x: tensor<1x4x2xf32>, %k: tensor<1x1x4x2xf32>) -> tensor<1x1x4x4xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[8.0, 16.0]> : tensor<2xf32>
  %eight = glow.splat 8.0 : tensor<f32>
  %m = glow.matmul %x, %w : tensor<1x4x2xf32>
  %a = glow.add %b, %m : tensor<1x4x2xf32>
  %r = glow.reshape %a : tensor<1x4x1x2xf32>
  %q = glow.transpose %r permutation [0, 2, 1, 3] : tensor<1x1x4x2xf32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x1x4x4xf32>
  %y = glow.div %s, %eight : tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func.func @keys(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00], [1.500000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.constant dense<[4.000000e+00, 8.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %k = glow.fully_connected %x, %0, %1 : tensor<4x2xf32>
// CHECK-NEXT: %s = glow.matmul %q, %k transpose_rhs : tensor<4x4xf32>
// CHECK-NEXT: func.return %s : tensor<4x4xf32>
func.func @keys(%x: tensor<4x2xf32>, %q: tensor<4x2xf32>) -> tensor<4x4xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[8.0, 16.0]> : tensor<2xf32>
  %half = glow.splat 0.5 : tensor<f32>
  %k = glow.fully_connected %x, %w, %b : tensor<4x2xf32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<4x4xf32>
  %y = glow.mul %half, %s : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// The projection is read elsewhere, and has an activation; its weights are computed.
// CHECK-LABEL: func.func @negative(
// CHECK-NEXT: %w = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %half = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %k = glow.fully_connected %x, %w : tensor<4x2xf32>
// CHECK-NEXT: %l = glow.fully_connected %q, %w activation "relu" : tensor<4x2xf32>
// CHECK-NEXT: %s = glow.matmul %l, %k transpose_rhs : tensor<4x4xf32>
// CHECK-NEXT: %y = glow.mul %s, %half : tensor<4x4xf32>
// CHECK-NEXT: %m = glow.matmul %x, %v : tensor<4x2xf32>
// CHECK-NEXT: %t = glow.matmul %m, %q transpose_rhs : tensor<4x4xf32>
// CHECK-NEXT: %z = glow.mul %t, %half : tensor<4x4xf32>
// CHECK-NEXT: func.return %y, %z, %k : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x2xf32>
func.func @negative(%x: tensor<4x2xf32>, %q: tensor<4x2xf32>, %v: tensor<2x2xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x2xf32>) {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %half = glow.splat 0.5 : tensor<f32>
  %k = glow.fully_connected %x, %w : tensor<4x2xf32>
  %l = glow.fully_connected %q, %w activation "relu" : tensor<4x2xf32>
  %s = glow.matmul %l, %k transpose_rhs : tensor<4x4xf32>
  %y = glow.mul %s, %half : tensor<4x4xf32>
  %m = glow.matmul %x, %v : tensor<4x2xf32>
  %t = glow.matmul %m, %q transpose_rhs : tensor<4x4xf32>
  %z = glow.mul %t, %half : tensor<4x4xf32>
  func.return %y, %z, %k : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// The scale of queries alone.
// CHECK-LABEL: func.func @value(
// CHECK-NEXT: %0 = glow.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00], [1.500000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %m = glow.matmul %x, %0 : tensor<1x4x2xf32>
// CHECK-NEXT: %q = glow.reshape %m : tensor<1x1x4x2xf32>
// CHECK-NEXT: func.return %q : tensor<1x1x4x2xf32>
func.func @value(%x: tensor<1x4x2xf32>) -> tensor<1x1x4x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %half = glow.splat 0.5 : tensor<f32>
  %m = glow.matmul %x, %w : tensor<1x4x2xf32>
  %q = glow.reshape %m : tensor<1x1x4x2xf32>
  %y = glow.mul %q, %half : tensor<1x1x4x2xf32>
  func.return %y : tensor<1x1x4x2xf32>
}
