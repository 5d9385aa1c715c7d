// RUN: glow-opt --fold-constants %s | filecheck %s

!w = !quant.uniform<i8:f32, 0.25>
!rows = !quant.uniform<i8:f32:0, {0.5, 0.25}>

// CHECK-LABEL: @moved
// CHECK-NEXT: %[[Y:.*]] = glow.constant dense<[[1, 3], [2, 4]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT: func.return %[[Y]]
func.func @moved() -> tensor<2x2x!w> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %y = glow.transpose %w permutation [1, 0] : tensor<2x2x!w>
  func.return %y : tensor<2x2x!w>
}

// CHECK-LABEL: @rows
// CHECK-NEXT: glow.constant dense<[[1.000000e+00, 1.250000e+00]]> : tensor<1x2xf32>
func.func @rows() -> tensor<1x2xf32> {
  %t = glow.constant dense<[[1, 2], [4, 5]]> : tensor<2x2xi8> as tensor<2x2x!rows>
  %i = glow.constant dense<[1]> : tensor<1xi64>
  %y = glow.gather %t, %i axis 0 : tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: @part
// CHECK-NEXT: glow.constant dense<{{.*}}3, 4{{.*}}> : tensor<1x2xi8> as tensor<1x2x!quant.uniform<i8:f32, 2.500000e-01>>
func.func @part() -> tensor<1x2x!w> {
  %w = glow.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %y = glow.slice %w starts [1, 0] sizes [1, 2] steps [1, 1] : tensor<1x2x!w>
  func.return %y : tensor<1x2x!w>
}
