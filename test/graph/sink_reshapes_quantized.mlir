// RUN: glow-opt --sink-reshapes %s | filecheck %s

!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<u8:f32, 0.75:7>
!c = !quant.uniform<i8:f32, 0.25>
!d = !quant.uniform<i8:f32, 0.5>

// CHECK-LABEL: @function
// CHECK-NEXT: glow.relu %x : tensor<2x3x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<6x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @function(%x: tensor<2x3x!x>) -> tensor<6x!y> {
  %r = glow.reshape %x : tensor<6x!x>
  %y = glow.relu %r : tensor<6x!y>
  func.return %y : tensor<6x!y>
}

// Constants of two scales are no one constant.
// CHECK-LABEL: @two_scales
// CHECK: glow.add
// CHECK: glow.add
// CHECK: glow.concat
func.func @two_scales(%x: tensor<4x!x>) -> tensor<4x!y> {
  %c = glow.constant dense<[1, 2]> : tensor<2xi8> as tensor<2x!c>
  %d = glow.constant dense<[3, 4]> : tensor<2xi8> as tensor<2x!d>
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2x!x>
  %1 = glow.slice %x starts [2] sizes [2] steps [1] : tensor<2x!x>
  %2 = glow.add %0, %c : tensor<2x!y>
  %3 = glow.add %1, %d : tensor<2x!y>
  %4 = glow.concat %2, %3 axis 0 : tensor<4x!y>
  func.return %4 : tensor<4x!y>
}

// CHECK-LABEL: @one_scale
// CHECK: %[[C:.*]] = glow.concat %c, %d axis 0 : tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK: glow.add {{.*}}, %[[C]] : tensor<4x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @one_scale(%x: tensor<4x!x>) -> tensor<4x!y> {
  %c = glow.constant dense<[1, 2]> : tensor<2xi8> as tensor<2x!c>
  %d = glow.constant dense<[3, 4]> : tensor<2xi8> as tensor<2x!c>
  %0 = glow.slice %x starts [0] sizes [2] steps [1] : tensor<2x!x>
  %1 = glow.slice %x starts [2] sizes [2] steps [1] : tensor<2x!x>
  %2 = glow.add %0, %c : tensor<2x!y>
  %3 = glow.add %1, %d : tensor<2x!y>
  %4 = glow.concat %2, %3 axis 0 : tensor<4x!y>
  func.return %4 : tensor<4x!y>
}
