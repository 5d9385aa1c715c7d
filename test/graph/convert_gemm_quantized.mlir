// RUN: glow-opt --convert-gemm %s | filecheck %s

// The result keeps its own scale and zero point, and may be of floats or sums.
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<u8:f32, 0.25:1>
!c = !quant.uniform<i8<-127:127>:f32:1, {0.25, 0.5}>
!y = !quant.uniform<u8:f32, 4.0:7>

// CHECK-LABEL: @matmul
// CHECK: glow.fully_connected %x, %w : tensor<2x2x!quant.uniform<u8:f32, 4.000000e+00:7>>
func.func @matmul(%x: tensor<2x2x!x>) -> tensor<2x2x!y> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8> as tensor<2x2x!w>
  %y = glow.matmul %x, %w : tensor<2x2x!y>
  func.return %y : tensor<2x2x!y>
}

// CHECK-LABEL: @channels
// CHECK: glow.fully_connected %x, %w : tensor<1x2xf32>
func.func @channels(%x: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!c>
  %y = glow.matmul %x, %w : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: @transposed
// CHECK: %[[W:.*]] = glow.constant dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xui8> as tensor<3x2x!quant.uniform<u8:f32, 2.500000e-01:1>>
// CHECK-NEXT: glow.matmul %x, %[[W]] : tensor<2x1x2x!quant.uniform<u8:f32, 4.000000e+00:7>>
func.func @transposed(%x: tensor<2x1x3x!x>) -> tensor<2x1x2x!y> {
  %w = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8> as tensor<2x3x!w>
  %y = glow.matmul %x, %w transpose_rhs : tensor<2x1x2x!y>
  func.return %y : tensor<2x1x2x!y>
}
