// RUN: ! glow-opt --assert-all-quantized %s 2>&1 | filecheck %s
// RUN: glow-opt --assert-all-quantized='keep=relu,conv2d' %s | filecheck %s --check-prefix=KEPT

// CHECK: error: assert-all-quantized: not quantized: glow.relu 'r', glow.conv2d 'y'
// KEPT: glow.conv2d
func.func @main(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:128>>, %w: tensor<2x2x1x1x!quant.uniform<i8:f32, 0.5>>, %v: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c = glow.conv2d %x, %w : tensor<1x2x4x4xf32>
  %r = glow.relu %c : tensor<1x2x4x4xf32>
  %y = glow.conv2d %r, %v : tensor<1x2x4x4xf32>
  %s = glow.sigmoid %y : tensor<1x2x4x4xf32>
  func.return %s : tensor<1x2x4x4xf32>
}
