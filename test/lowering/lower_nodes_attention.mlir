// RUN: glow-opt --lower-nodes='backend=cpu' %s | filecheck %s

// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %0 = glow.matmul %q, %k transpose_rhs : tensor<2x4x5xf32>
// CHECK-NEXT: %1 = glow.softmax %0 axis 2 : tensor<2x4x5xf32>
// CHECK-NEXT: %y = glow.matmul %1, %v : tensor<2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x6xf32>
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>) -> tensor<2x4x6xf32> {
  %y = glow.attention %q, %k, %v : tensor<2x4x6xf32>
  func.return %y : tensor<2x4x6xf32>
}

// CHECK-LABEL: func.func @masked_attention(
// CHECK-NEXT: %0 = glow.matmul %q, %k transpose_rhs : tensor<2x4x5xf32>
// CHECK-NEXT: %1 = glow.splat 1.250000e-01 : tensor<f32>
// CHECK-NEXT: %2 = glow.mul %0, %1 : tensor<2x4x5xf32>
// CHECK-NEXT: %3 = glow.add %2, %m : tensor<2x4x5xf32>
// CHECK-NEXT: %4 = glow.softmax %3 axis 2 : tensor<2x4x5xf32>
// CHECK-NEXT: %y = glow.matmul %4, %v : tensor<2x4x6xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x6xf32>
func.func @masked_attention(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %m: tensor<5xf32>) -> tensor<2x4x6xf32> {
  %y = glow.attention %q, %k, %v, %m scale 0.125 : tensor<2x4x6xf32>
  func.return %y : tensor<2x4x6xf32>
}

// Enough queries for the kernel of attention, which repeats no heads.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: %y = glow.attention %q, %q, %q : tensor<2x16x8xf32>
// CHECK-NEXT: glow.matmul
func.func @kept(%q: tensor<2x16x8xf32>, %k: tensor<1x16x8xf32>) -> (tensor<2x16x8xf32>, tensor<2x16x8xf32>) {
  %y = glow.attention %q, %q, %q : tensor<2x16x8xf32>
  %z = glow.attention %q, %k, %k : tensor<2x16x8xf32>
  func.return %y, %z : tensor<2x16x8xf32>, tensor<2x16x8xf32>
}
