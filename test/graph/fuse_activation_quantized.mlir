// RUN: glow-opt --fuse-activation %s | filecheck %s

!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 4.0:7>
!z = !quant.uniform<u8:f32, 2.0:9>

// CHECK-LABEL: @same_scale
// CHECK: glow.fully_connected %x, %w activation "relu" : tensor<1x2x!quant.uniform<u8:f32, 4.000000e+00:7>>
func.func @same_scale(%x: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %w = glow.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %0 = glow.fully_connected %x, %w : tensor<1x2x!y>
  %1 = glow.relu %0 : tensor<1x2x!y>
  func.return %1 : tensor<1x2x!y>
}

// A ReLU that rescales rounds a second time.
// CHECK-LABEL: @other_scale
// CHECK: glow.fully_connected %x, %w : tensor<1x2x!quant.uniform<u8:f32, 4.000000e+00:7>>
// CHECK-NEXT: glow.relu {{.*}} : tensor<1x2x!quant.uniform<u8:f32, 2.000000e+00:9>>
func.func @other_scale(%x: tensor<1x2x!x>) -> tensor<1x2x!z> {
  %w = glow.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> as tensor<2x2x!w>
  %0 = glow.fully_connected %x, %w : tensor<1x2x!y>
  %1 = glow.relu %0 : tensor<1x2x!z>
  func.return %1 : tensor<1x2x!z>
}
