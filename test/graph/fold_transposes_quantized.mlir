// RUN: glow-opt --fold-transposes %s | filecheck %s

// Rows of quantized weights are reordered under their scales; results keep their own.
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8<-127:127>:f32:1, {0.25, 0.5}>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @layer
// CHECK: %[[W:.*]] = glow.constant dense<[[1, 2], [5, 6], [3, 4], [7, 8]]> : tensor<4x2xi8> as tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {2.500000e-01, 5.000000e-01}>>
// CHECK: %[[F:.*]] = glow.reshape %x
// CHECK: glow.fully_connected %[[F]], %[[W]] : tensor<1x2x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @layer(%x: tensor<1x2x2x!x>) -> tensor<1x2x!y> {
  %w = glow.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8> as tensor<4x2x!w>
  %t = glow.transpose %x permutation [0, 2, 1] : tensor<1x2x2x!x>
  %f = glow.reshape %t : tensor<1x4x!x>
  %y = glow.fully_connected %f, %w : tensor<1x2x!y>
  func.return %y : tensor<1x2x!y>
}

// CHECK-LABEL: @reduction
// CHECK: glow.reduce_mean %x axes [1] keepdims : tensor<1x1x3x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.transpose {{.*}} : tensor<1x3x4x1x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @reduction(%x: tensor<1x2x3x4x!x>) -> tensor<1x3x4x1x!y> {
  %t = glow.transpose %x permutation [0, 2, 3, 1] : tensor<1x3x4x2x!x>
  %y = glow.reduce_mean %t axes [3] keepdims : tensor<1x3x4x1x!y>
  func.return %y : tensor<1x3x4x1x!y>
}

// CHECK-LABEL: @without_axes
// CHECK: glow.reduce_mean %x axes [2] : tensor<1x2x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 2, 1] : tensor<1x4x2x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @without_axes(%x: tensor<1x2x3x4x!x>) -> tensor<1x4x2x!y> {
  %t = glow.transpose %x permutation [0, 2, 3, 1] : tensor<1x3x4x2x!x>
  %y = glow.reduce_mean %t axes [1] : tensor<1x4x2x!y>
  func.return %y : tensor<1x4x2x!y>
}

// CHECK-LABEL: @moved
// CHECK: glow.pad %x pads [0, 1, 0, 0, 0, 1] value 1.500000e+00 : tensor<1x4x4x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: glow.slice {{.*}} starts [0, 1, 0] sizes [1, 2, 4] steps [1, 1, 1]
// CHECK-NEXT: glow.transpose {{.*}} permutation [2, 0, 1]
func.func @moved(%x: tensor<1x3x3x!x>) -> tensor<4x1x2x!x> {
  %t = glow.transpose %x permutation [2, 0, 1] : tensor<3x1x3x!x>
  %p = glow.pad %t pads [0, 0, 1, 1, 0, 0] value 1.5 : tensor<4x1x4x!x>
  %y = glow.slice %p starts [0, 0, 1] sizes [4, 1, 2] steps [1, 1, 1] : tensor<4x1x2x!x>
  func.return %y : tensor<4x1x2x!x>
}

// CHECK-LABEL: @repeated
// CHECK-NEXT: glow.transpose %x permutation [1, 0] : tensor<3x2x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: glow.tile {{.*}} repeats [1, 4] : tensor<3x8x!quant.uniform<u8:f32, 5.000000e-01:3>>
func.func @repeated(%x: tensor<2x3x!x>) -> tensor<3x8x!x> {
  %r = glow.tile %x repeats [4, 1] : tensor<8x3x!x>
  %t = glow.transpose %r permutation [1, 0] : tensor<3x8x!x>
  func.return %t : tensor<3x8x!x>
}
