// RUN: glow-opt --fold-pads %s | filecheck %s

// A window's own padding is the number 0 too, and its result has a scale of its own.
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @convolution
// CHECK: glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x1x4x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @convolution(%x: tensor<1x1x4x4x!x>) -> tensor<1x1x4x4x!y> {
  %w = glow.constant dense<[[[[1, 2, 3], [-4, 5, -6], [7, 8, 9]]]]> : tensor<1x1x3x3xi8> as tensor<1x1x3x3x!w>
  %p = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x1x6x6x!x>
  %y = glow.conv2d %p, %w : tensor<1x1x4x4x!y>
  func.return %y : tensor<1x1x4x4x!y>
}

// CHECK-LABEL: @mean
// CHECK: glow.avg_pool2d %x count_include_pad kernel [2, 2] pads [1, 0, 0, 1] : tensor<1x1x4x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @mean(%x: tensor<1x1x4x4x!x>) -> tensor<1x1x4x4x!y> {
  %p = glow.pad %x pads [0, 0, 1, 0, 0, 0, 0, 1] : tensor<1x1x5x5x!x>
  %y = glow.avg_pool2d %p kernel [2, 2] count_include_pad : tensor<1x1x4x4x!y>
  func.return %y : tensor<1x1x4x4x!y>
}

// CHECK-LABEL: @other_number
// CHECK: glow.pad
// CHECK: glow.conv2d {{.*}} : tensor<1x1x4x4x!quant.uniform<u8:f32, 7.500000e-01:7>>
func.func @other_number(%x: tensor<1x1x4x4x!x>) -> tensor<1x1x4x4x!y> {
  %w = glow.constant dense<[[[[1, 2, 3], [-4, 5, -6], [7, 8, 9]]]]> : tensor<1x1x3x3xi8> as tensor<1x1x3x3x!w>
  %p = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] value 1.5 : tensor<1x1x6x6x!x>
  %y = glow.conv2d %p, %w : tensor<1x1x4x4x!y>
  func.return %y : tensor<1x1x4x4x!y>
}
