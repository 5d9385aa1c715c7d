// RUN: glow-opt --eliminate-transposes %s | filecheck %s

!x = !quant.uniform<u8:f32, 0.5:3>
!c = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @rescale
// CHECK: %[[R:.*]] = glow.rescale %x : tensor<1x2x3x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.transpose %[[R]] permutation [0, 2, 3, 1] : tensor<1x3x4x2x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @rescale(%x: tensor<1x2x3x4x!x>) -> tensor<1x3x4x2x!y> {
  %t = glow.transpose %x permutation [0, 2, 3, 1] : tensor<1x3x4x2x!x>
  %y = glow.rescale %t : tensor<1x3x4x2x!y>
  func.return %y : tensor<1x3x4x2x!y>
}

// CHECK-LABEL: @rescale_channels
// CHECK-DAG: %[[M:.*]] = glow.constant dense<{{.*}}2.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<1x2x1x1xf32>
// CHECK-DAG: %[[A:.*]] = glow.constant dense<{{.*}}1.000000e+00{{.*}}-1.000000e+00{{.*}}> : tensor<1x2x1x1xf32>
// CHECK: glow.rescale %x, %[[M]], %[[A]] : tensor<1x2x3x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @rescale_channels(%x: tensor<1x2x3x4x!x>) -> tensor<1x3x4x2x!y> {
  %m = glow.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %a = glow.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %t = glow.transpose %x permutation [0, 2, 3, 1] : tensor<1x3x4x2x!x>
  %y = glow.rescale %t, %m, %a : tensor<1x3x4x2x!y>
  func.return %y : tensor<1x3x4x2x!y>
}

// CHECK-LABEL: @sum
// CHECK: %[[C:.*]] = glow.constant dense<{{.*}}> : tensor<2x1xi8> as tensor<2x1x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT: glow.add %x, %[[C]] : tensor<2x3x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @sum(%x: tensor<2x3x!x>) -> tensor<3x2x!y> {
  %c = glow.constant dense<[1, 2]> : tensor<2xi8> as tensor<2x!c>
  %t = glow.transpose %x permutation [1, 0] : tensor<3x2x!x>
  %y = glow.add %t, %c : tensor<3x2x!y>
  func.return %y : tensor<3x2x!y>
}

// The table stays as it is.
// CHECK-LABEL: @table
// CHECK: glow.lookup_table %x, %table : tensor<2x3x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.transpose
func.func @table(%x: tensor<2x3x!x>, %table: tensor<256xui8>) -> tensor<3x2x!y> {
  %t = glow.transpose %x permutation [1, 0] : tensor<3x2x!x>
  %y = glow.lookup_table %t, %table : tensor<3x2x!y>
  func.return %y : tensor<3x2x!y>
}

// CHECK-LABEL: @product
// CHECK: glow.matmul %x, %w transpose_rhs : tensor<2x2x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @product(%x: tensor<2x3x!x>, %w: tensor<2x3x!c>) -> tensor<2x2x!y> {
  %t = glow.transpose %w permutation [1, 0] : tensor<3x2x!c>
  %y = glow.matmul %x, %t : tensor<2x2x!y>
  func.return %y : tensor<2x2x!y>
}
