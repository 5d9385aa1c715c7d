// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s

// A batch that slides over another, with images in the place of channels.
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: %0 = cpu.pack %x lanes 16 : tensor<8x1x14x14x16xf32>
// CHECK-NEXT: %1 = cpu.pack %g lanes 16 : tensor<8x2x7x7x16xf32>
// CHECK-NEXT: %2 = cpu.conv2d_weight_gradient %0, %1 input_channels 16 output_channels 32 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : tensor<4608xf32>
// CHECK-NEXT: %w = cpu.unpack_weights %2 lanes 16 input_lanes 16 shape [32, 16, 3, 3] : tensor<32x16x3x3xf32>
// CHECK-NEXT: func.return %w : tensor<32x16x3x3xf32>
func.func @weights(%x: tensor<8x16x14x14xf32>, %g: tensor<8x32x7x7xf32>) -> tensor<32x16x3x3xf32> {
  %a = glow.transpose %x permutation [1, 0, 2, 3] : tensor<16x8x14x14xf32>
  %b = glow.transpose %g permutation [1, 0, 2, 3] : tensor<32x8x7x7xf32>
  %c = glow.conv2d %a, %b dilations [2, 2] pads [1, 1, 1, 1] : tensor<16x32x4x4xf32>
  %d = glow.slice %c starts [0, 0, 0, 0] sizes [16, 32, 3, 3] steps [1, 1, 1, 1] : tensor<16x32x3x3xf32>
  %w = glow.transpose %d permutation [1, 0, 2, 3] : tensor<32x16x3x3xf32>
  func.return %w : tensor<32x16x3x3xf32>
}

// Few channels are read from the plain image, which is padded before.
// CHECK-LABEL: func.func @stem(
// CHECK-NEXT: %[[PADDED:.*]] = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<8x3x8x8xf32>
// CHECK-NEXT: %[[G:.*]] = cpu.pack %g lanes 16 : tensor<8x1x6x6x16xf32>
// CHECK-NEXT: %[[P:.*]] = cpu.conv2d_weight_gradient %[[PADDED]], %[[G]] input_channels 3 output_channels 16 kernel [3, 3] : tensor<432xf32>
// CHECK-NEXT: %w = cpu.unpack_weights %[[P]] lanes 16 input_lanes 1 shape [16, 3, 3, 3] : tensor<16x3x3x3xf32>
// CHECK-NEXT: func.return %w : tensor<16x3x3x3xf32>
func.func @stem(%x: tensor<8x3x6x6xf32>, %g: tensor<8x16x6x6xf32>) -> tensor<16x3x3x3xf32> {
  %a = glow.transpose %x permutation [1, 0, 2, 3] : tensor<3x8x6x6xf32>
  %b = glow.transpose %g permutation [1, 0, 2, 3] : tensor<16x8x6x6xf32>
  %c = glow.conv2d %a, %b pads [1, 1, 1, 1] : tensor<3x16x3x3xf32>
  %w = glow.transpose %c permutation [1, 0, 2, 3] : tensor<16x3x3x3xf32>
  func.return %w : tensor<16x3x3x3xf32>
}

// With groups.
// CHECK-LABEL: func.func @groups(
// CHECK: cpu.conv2d_weight_gradient {{.*}} input_channels 32 output_channels 32 group 2 kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
// CHECK-NEXT: cpu.unpack_weights {{.*}} group 2 lanes 16 input_lanes 16 shape [32, 16, 3, 3] : tensor<32x16x3x3xf32>
func.func @groups(%x: tensor<8x32x6x6xf32>, %g: tensor<8x32x6x6xf32>) -> tensor<32x16x3x3xf32> {
  %0 = glow.reshape %x : tensor<8x2x16x6x6xf32>
  %1 = glow.transpose %0 permutation [2, 1, 0, 3, 4] : tensor<16x2x8x6x6xf32>
  %a = glow.reshape %1 : tensor<16x16x6x6xf32>
  %b = glow.transpose %g permutation [1, 0, 2, 3] : tensor<32x8x6x6xf32>
  %c = glow.conv2d %a, %b group 2 pads [1, 1, 1, 1] : tensor<16x32x3x3xf32>
  %w = glow.transpose %c permutation [1, 0, 2, 3] : tensor<32x16x3x3xf32>
  func.return %w : tensor<32x16x3x3xf32>
}

// A transposed batch that is not read by another transposed one is like any other image; so are
// channels that fit no blocks.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: weight_gradient
// CHECK: func.return
func.func @others(%x: tensor<16x8x6x6xf32>, %v: tensor<16x16x3x3xf32>, %g: tensor<16x5x6x6xf32>) -> (tensor<8x16x6x6xf32>, tensor<8x5x3x3xf32>) {
  %a = glow.transpose %x permutation [1, 0, 2, 3] : tensor<8x16x6x6xf32>
  %y = glow.conv2d %a, %v pads [1, 1, 1, 1] : tensor<8x16x6x6xf32>
  %b = glow.transpose %g permutation [1, 0, 2, 3] : tensor<5x16x6x6xf32>
  %z = glow.conv2d %a, %b pads [1, 1, 1, 1] : tensor<8x5x3x3xf32>
  func.return %y, %z : tensor<8x16x6x6xf32>, tensor<8x5x3x3xf32>
}

// The gradient of an input: a convolution with exchanged channels and turned taps.
// CHECK-LABEL: func.func @input(
// CHECK: %[[W:.*]] = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> turned : tensor<4608xf32>
// CHECK-NEXT: %[[G:.*]] = cpu.pack %g lanes 16 : tensor<8x2x6x6x16xf32>
// CHECK-NEXT: %{{.*}} = cpu.conv2d %[[G]], %[[W]], %{{.*}} input_channels 32 output_channels 16{{.*}} kernel [3, 3] pads [1, 1, 1, 1] : tensor<8x1x6x6x16xf32>
func.func @input(%g: tensor<8x32x6x6xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x16x6x6xf32> {
  %x = glow.conv_transpose2d %g, %w pads [1, 1, 1, 1] : tensor<8x16x6x6xf32>
  func.return %x : tensor<8x16x6x6xf32>
}

// With strides, one of all phases, whose pixels are put in order; odd sizes are cropped.
// CHECK-LABEL: func.func @strided(
// CHECK: cpu.pack_weights %w input_lanes 16 panels {{.*}} turned strides [2, 2] pads [1, 1] : tensor<8192xf32>
// CHECK: cpu.conv2d {{.*}} input_channels 32 output_channels 64{{.*}} kernel [2, 2] pads [0, 0, 1, 1] : tensor<8x4x3x3x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<8x2x2x1x3x3x16xf32>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 3, 4, 1, 5, 2, 6] : tensor<8x1x3x2x3x2x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<8x1x6x6x16xf32>
// CHECK-NEXT: glow.slice {{.*}} sizes [8, 1, 5, 5, 16] steps [1, 1, 1, 1, 1] : tensor<8x1x5x5x16xf32>
func.func @strided(%g: tensor<8x32x3x3xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x16x5x5xf32> {
  %x = glow.conv_transpose2d %g, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<8x16x5x5xf32>
  func.return %x : tensor<8x16x5x5xf32>
}

// Phases without taps are zeros.
// CHECK-LABEL: func.func @zeros(
// CHECK: cpu.conv2d {{.*}} input_channels 32 output_channels 16{{.*}} kernel [1, 1] : tensor<8x1x3x3x16xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<8x1x1x1x3x3x16xf32>
// CHECK-NEXT: glow.pad {{.*}} pads [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0] : tensor<8x2x2x1x3x3x16xf32>
func.func @zeros(%g: tensor<8x32x3x3xf32>, %w: tensor<32x16x1x1xf32>) -> tensor<8x16x6x6xf32> {
  %x = glow.conv_transpose2d %g, %w strides [2, 2] output_padding [1, 1] : tensor<8x16x6x6xf32>
  func.return %x : tensor<8x16x6x6xf32>
}

// What fits no blocks is lowered as with constant weights.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: turned
// CHECK: cpu.conv2d
func.func @odd(%g: tensor<8x32x3x3xf32>, %w: tensor<32x20x3x3xf32>) -> tensor<8x20x5x5xf32> {
  %x = glow.conv_transpose2d %g, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<8x20x5x5xf32>
  func.return %x : tensor<8x20x5x5xf32>
}

// On small planes a tile is one pixel of many images.
// CHECK-LABEL: func.func @images(
// CHECK: cpu.conv2d {{.*}} config #cpu.conv_config<blocks = {{.*}}, pixels = {{.*}}, images = true>
func.func @images(%x: tensor<32x32x2x2xf32>, %w: tensor<64x32x3x3xf32>) -> tensor<32x64x2x2xf32> {
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<32x64x2x2xf32>
  func.return %y : tensor<32x64x2x2xf32>
}

// Of a depthwise convolution the gradient is blocks.
// CHECK-LABEL: func.func @depthwise(
// CHECK: %[[G:.*]] = cpu.conv2d_weight_gradient {{.*}} input_channels 16 output_channels 16 group 16 kernel [3, 3] pads [1, 1, 1, 1] : tensor<144xf32>
// CHECK-NEXT: %[[B:.*]] = glow.reshape %[[G]] : tensor<1x1x3x3x16xf32>
// CHECK-NEXT: %[[P:.*]] = cpu.unpack %[[B]] channels 16 : tensor<1x16x3x3xf32>
// CHECK-NEXT: %{{.*}} = glow.reshape %[[P]] : tensor<16x1x3x3xf32>
func.func @depthwise(%x: tensor<8x16x6x6xf32>, %g: tensor<8x16x6x6xf32>) -> tensor<16x1x3x3xf32> {
  %0 = glow.reshape %x : tensor<8x16x1x6x6xf32>
  %1 = glow.transpose %0 permutation [2, 1, 0, 3, 4] : tensor<1x16x8x6x6xf32>
  %a = glow.reshape %1 : tensor<1x128x6x6xf32>
  %b = glow.transpose %g permutation [1, 0, 2, 3] : tensor<16x8x6x6xf32>
  %c = glow.conv2d %a, %b group 16 pads [1, 1, 1, 1] : tensor<1x16x3x3xf32>
  %w = glow.transpose %c permutation [1, 0, 2, 3] : tensor<16x1x3x3xf32>
  func.return %w : tensor<16x1x3x3xf32>
}
