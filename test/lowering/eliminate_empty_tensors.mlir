// RUN: glow-opt --eliminate-empty-tensors %s | filecheck %s

// A fold of nothing is the number that it starts with.
// CHECK-LABEL: func.func @fold(
// CHECK-NEXT: %s = glow.splat 0.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %m = glow.splat -128 : tensor<2xi8>
func.func @fold(%x: tensor<2x0xf32>, %i: tensor<2x0xi8>) -> (tensor<2xf32>, tensor<2xi8>) {
  %s = glow.reduce_sum %x axes [1] : tensor<2xf32>
  %m = glow.reduce_max %i axes [1] : tensor<2xi8>
  func.return %s, %m : tensor<2xf32>, tensor<2xi8>
}

// A result without elements needs no work.
// CHECK-LABEL: func.func @result(
// CHECK-NEXT: %y = glow.splat 0.000000e+00 : tensor<0x4xf32>
func.func @result(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %y = glow.relu %x : tensor<0x4xf32>
  func.return %y : tensor<0x4xf32>
}

// CHECK-LABEL: func.func @pieces(
// CHECK-NEXT: %c = glow.concat %x, %x axis 0 : tensor<4x3xf32>
func.func @pieces(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> tensor<4x3xf32> {
  %c = glow.concat %x, %e, %x axis 0 : tensor<4x3xf32>
  func.return %c : tensor<4x3xf32>
}
