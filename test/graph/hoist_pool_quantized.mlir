// RUN: glow-opt --hoist-pool %s | filecheck %s

// The convolution's saturation at 0 is the ReLU that quantization has folded into it; the
// mean of what is negative before would be another number.
!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!r = !quant.uniform<u8:f32, 0.75>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @saturated
// CHECK: %c = glow.conv2d %x, %w : tensor<1x1x2x2x!quant.uniform<u8:f32, 7.500000e-01>>
// CHECK-NEXT: glow.avg_pool2d %c
func.func @saturated(%x: tensor<1x1x2x2x!x>) -> tensor<1x1x1x1x!y> {
  %w = glow.constant dense<7> : tensor<1x1x1x1xi8> as tensor<1x1x1x1x!w>
  %c = glow.conv2d %x, %w : tensor<1x1x2x2x!r>
  %y = glow.avg_pool2d %c kernel [2, 2] : tensor<1x1x1x1x!y>
  func.return %y : tensor<1x1x1x1x!y>
}

// A mean of floats from integers stays behind them: in front it would be rounded.
// CHECK-LABEL: @floats
// CHECK: %c = glow.conv2d %x, %w : tensor<1x1x2x2xf32>
// CHECK-NEXT: glow.avg_pool2d %c
func.func @floats(%x: tensor<1x1x2x2x!x>) -> tensor<1x1x1x1xf32> {
  %w = glow.constant dense<7> : tensor<1x1x1x1xi8> as tensor<1x1x1x1x!w>
  %c = glow.conv2d %x, %w : tensor<1x1x2x2xf32>
  %y = glow.avg_pool2d %c kernel [2, 2] : tensor<1x1x1x1xf32>
  func.return %y : tensor<1x1x1x1xf32>
}
