// RUN: glow-opt --assign-layout='target=wasm-simd' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=znver5' --dce %s | filecheck --check-prefix=VNNI %s
// RUN: glow-opt --assign-layout='target=sapphirerapids' --dce %s | filecheck --check-prefix=AMX %s

// With VNNI, of 64 outputs and more; not with AMX.
// AMX-LABEL: func.func @large_plane(
// AMX-NOT: winograd
// AMX: func.func @main(
// VNNI-LABEL: func.func @large_plane(
// VNNI: cpu.int8_winograd_conv2d {{.*}} tile 4
func.func @large_plane(%x: tensor<1x64x56x56xui8>) -> tensor<1x64x56x56xi32> {
  %w = glow.splat 1 : tensor<64x64x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x64x56x56xi32>
  func.return %0 : tensor<1x64x56x56xi32>
}

// Where bytes are multiplied as words, 3 x 3 taps of stride one are transformed.
// CHECK-LABEL: func.func @main(
// CHECK: %w.transformed = glow.constant {{.*}} : tensor<9216xi16>
// CHECK: cpu.int8_winograd_conv2d %{{.*}}, %w.transformed, %{{.*}} input_channels 16 output_channels 16 zero_point 3 pads [1, 1, 1, 1] tile 4 scratch [2304, {{[0-9]+}}] config #cpu.winograd_config<block_rows = 2, {{.*}}fused = true> panels #cpu.panels<{{.*}}, lanes = 4, by_block = true> : tensor<1x4x8x8x4xi32>
func.func @main(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x8x8xi32> {
  %w = glow.splat 1 : tensor<16x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x16x8x8xi32>
  func.return %0 : tensor<1x16x8x8xi32>
}

// Sums of 255 * 127 * 9 * 128 have no room for a factor of 64, but for 4.
// CHECK-LABEL: func.func @large_sums(
// CHECK: cpu.int8_winograd_conv2d {{.*}} tile 2
func.func @large_sums(%x: tensor<1x128x16x16xui8>) -> tensor<1x128x16x16xi32> {
  %w = glow.splat 127 : tensor<128x128x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x128x16x16xi32>
  func.return %0 : tensor<1x128x16x16xi32>
}

// Channels that fill no blocks, and a plane that is no multiple of a tile.
// CHECK-LABEL: func.func @odd(
// CHECK: cpu.int8_winograd_conv2d {{.*}} input_channels 21 output_channels 18 zero_point 255 pads [0, 1, 1, 0] tile {{[24]}}
func.func @odd(%x: tensor<1x21x15x14xui8>) -> tensor<1x18x14x13xi32> {
  %w = glow.splat 1 : tensor<18x21x3x3xi8>
  %z = glow.constant dense<255> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [0, 1, 1, 0] : tensor<1x18x14x13xi32>
  func.return %0 : tensor<1x18x14x13xi32>
}

// A window with a dilation is one without of the phases of a plane, which are padded with the zero
// point to one size.
// CHECK-LABEL: func.func @dilated(
// CHECK: glow.pad %{{.*}} pads [0, 0, 0, 0, 0, 0, 0, 0, 1, 0] value 7.000000e+00 : tensor<1x16x22x22x4xui8>
// CHECK: glow.transpose %{{.*}} permutation [0, 3, 5, 1, 2, 4, 6] : tensor<1x2x2x16x11x11x4xui8>
// CHECK: cpu.int8_winograd_conv2d {{.*}} zero_point 7 pads [1, 1, 1, 1] tile {{.*}} : tensor<4x16x11x11x4xi32>
// CHECK: glow.transpose %{{.*}} permutation [0, 3, 4, 1, 5, 2, 6] : tensor<1x16x11x2x11x2x4xi32>
func.func @dilated(%x: tensor<1x64x22x21xui8>) -> tensor<1x64x22x21xi32> {
  %w = glow.splat 1 : tensor<64x64x3x3xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x64x22x21xi32>
  func.return %0 : tensor<1x64x22x21xi32>
}

// Groups that fill blocks are one convolution, each with weights of its own.
// CHECK-LABEL: func.func @groups(
// CHECK: %w.transformed = glow.constant {{.*}} : tensor<82944xi16>
// CHECK: cpu.int8_winograd_conv2d {{.*}} input_channels 144 output_channels 144 group 9 zero_point 3 pads [1, 1, 1, 1] tile 4
func.func @groups(%x: tensor<1x144x28x28xui8>) -> tensor<1x144x28x28xi32> {
  %w = glow.splat 1 : tensor<144x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 9 pads [1, 1, 1, 1] : tensor<1x144x28x28xi32>
  func.return %0 : tensor<1x144x28x28xi32>
}
