// RUN: glow-opt --assign-layout --absorb-transposes %s | filecheck %s

// The heads of attention, split and joined.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %s = cpu.batch_matmul %x, %y lhs_axes [0, 2, 1, 3] rhs_axes [0, 2, 3, 1] result_axes [0, 1, 2, 3] : tensor<1x12x128x128xf32>
// CHECK-NEXT: %p = glow.softmax %s axis 3 : tensor<1x12x128x128xf32>
// CHECK-NEXT: %r = cpu.batch_matmul %p, %x lhs_axes [0, 1, 2, 3] rhs_axes [0, 2, 1, 3] result_axes [0, 2, 1, 3] : tensor<1x128x12x64xf32>
// CHECK-NEXT: func.return %r : tensor<1x128x12x64xf32>
func.func @attention(%x: tensor<1x128x12x64xf32>, %y: tensor<1x128x12x64xf32>) -> tensor<1x128x12x64xf32> {
  %q = glow.transpose %x permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
  %k = glow.transpose %y permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
  %s = glow.matmul %q, %k transpose_rhs : tensor<1x12x128x128xf32>
  %p = glow.softmax %s axis 3 : tensor<1x12x128x128xf32>
  %c = glow.matmul %p, %q : tensor<1x12x128x64xf32>
  %r = glow.transpose %c permutation [0, 2, 1, 3] : tensor<1x128x12x64xf32>
  func.return %r : tensor<1x128x12x64xf32>
}

// CHECK-LABEL: func.func @node(
// CHECK-NEXT: %0 = glow.reshape %m : tensor<1x1x1x128xf32>
// CHECK-NEXT: %r = cpu.attention %x, %y, %y, %0 query_axes [0, 2, 1, 3] key_axes [0, 2, 3, 1] value_axes [0, 2, 1, 3] result_axes [0, 2, 1, 3] scale 1.250000e-01 : tensor<1x128x12x64xf32>
// CHECK-NEXT: func.return %r : tensor<1x128x12x64xf32>
func.func @node(%x: tensor<1x128x12x64xf32>, %y: tensor<1x128x12x64xf32>, %m: tensor<128xf32>) -> tensor<1x128x12x64xf32> {
  %q = glow.transpose %x permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
  %k = glow.transpose %y permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
  %c = glow.attention %q, %k, %k, %m scale 0.125 : tensor<1x12x128x64xf32>
  %r = glow.transpose %c permutation [0, 2, 1, 3] : tensor<1x128x12x64xf32>
  func.return %r : tensor<1x128x12x64xf32>
}

// The columns of a result are wanted as its rows: the operands change places.
// CHECK-LABEL: func.func @columns(
// CHECK: %r = cpu.batch_matmul %s, %x lhs_axes [0, 1, 3, 2] rhs_axes [0, 2, 1, 3] result_axes [0, 2, 1, 3] : tensor<2x128x12x64xf32>
// CHECK-NEXT: func.return %r : tensor<2x128x12x64xf32>
func.func @columns(%x: tensor<2x32x12x64xf32>, %s: tensor<2x12x32x128xf32>) -> tensor<2x128x12x64xf32> {
  %q = glow.transpose %x permutation [0, 2, 3, 1] : tensor<2x12x64x32xf32>
  %c = glow.matmul %q, %s : tensor<2x12x64x128xf32>
  %r = glow.transpose %c permutation [0, 3, 1, 2] : tensor<2x128x12x64xf32>
  func.return %r : tensor<2x128x12x64xf32>
}

// What is 0 where it is NaN is stored so, as its reader wants it.
// CHECK-LABEL: func.func @guarded_attention(
// CHECK: cpu.attention %q, %k, %k query_axes [0, 1, 2, 3] key_axes [0, 1, 3, 2] value_axes [0, 1, 2, 3] result_axes [0, 2, 1, 3] scale 1.250000e-01 zero_nans : tensor<1x128x12x64xf32>
// CHECK-NEXT: func.return
func.func @guarded_attention(%q: tensor<1x12x128x64xf32>, %k: tensor<1x12x128x64xf32>) -> tensor<1x128x12x64xf32> {
  %zero = glow.splat 0.0 : tensor<f32>
  %c = glow.attention %q, %k, %k scale 0.125 : tensor<1x12x128x64xf32>
  %n = glow.is_nan %c : tensor<1x12x128x64xi1>
  %g = glow.select %n, %zero, %c : tensor<1x12x128x64xf32>
  %r = glow.transpose %g permutation [0, 2, 1, 3] : tensor<1x128x12x64xf32>
  func.return %r : tensor<1x128x12x64xf32>
}
