// RUN: glow-opt --assign-layout='target=cortex-m4' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=cortex-m55' --dce %s | filecheck %s --check-prefix=MVE

// Where numbers are one by one, blocks hold a word of bytes, and a loop goes over single pixels.
// CHECK-LABEL: func.func @convolution(
// CHECK: cpu.pack %x lanes 4 : tensor<1x2x4x4x4xui8>
// CHECK: cpu.int8_conv2d {{.*}} config #cpu.conv_config<blocks = 1, pixels = [1], order = pixels> panels #cpu.panels<blocks = 1, lanes = 4> kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x2x4x4x4xi32>

// Dot products of MVE take sixteen bytes, which a block holds, too.
// MVE-LABEL: func.func @convolution(
// MVE: cpu.pack %x lanes 16 : tensor<1x1x4x4x16xui8>
// MVE: cpu.int8_conv2d {{.*}} order = pixels> panels #cpu.panels<blocks = 1, lanes = 16> signed_input kernel
func.func @convolution(%x: tensor<1x8x4x4xui8>) -> tensor<1x6x4x4xi32> {
  %w = glow.constant dense<3> : tensor<6x8x3x3xi8>
  %z = glow.constant dense<0> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x6x4x4xi32>
  func.return %0 : tensor<1x6x4x4xi32>
}
