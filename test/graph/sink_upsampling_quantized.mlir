// RUN: glow-opt --sink-upsampling %s | filecheck %s

// Each part of a quantized sum would be rounded.
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>

// CHECK-LABEL: func.func @quantized(
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @quantized(%x: tensor<1x64x8x8x!x>) -> tensor<1x2x8x32x!x> {
  %places = glow.splat 3 : tensor<32xi64>
  %w = glow.constant dense<7> : tensor<2x64x1x1xi8> as tensor<2x64x1x1x!w>
  %0 = glow.gather %x, %places axis 3 : tensor<1x64x8x32x!x>
  %z = glow.conv2d %0, %w : tensor<1x2x8x32x!x>
  func.return %z : tensor<1x2x8x32x!x>
}
