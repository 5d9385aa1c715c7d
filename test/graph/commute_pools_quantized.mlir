// RUN: glow-opt --commute-pools %s | filecheck %s

!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @plane
// CHECK-NEXT: glow.avg_pool2d %x kernel [3, 4] : tensor<1x2x1x1x!quant.uniform<u8:f32, 7.500000e-01:7>>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x2x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @plane(%x: tensor<1x2x3x4x!x>) -> tensor<1x2x!y> {
  %y = glow.reduce_mean %x axes [2, 3] : tensor<1x2x!y>
  func.return %y : tensor<1x2x!y>
}
