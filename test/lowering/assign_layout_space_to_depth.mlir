// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512 numerics=exact' %s | filecheck %s --check-prefix=EXACT

// EXACT-NOT: cpu.winograd_conv2d
// EXACT-NOT: glow.pad

// Twelve channels of squares for three, four by four taps for seven by seven.
// CHECK-LABEL: func.func @two(
// CHECK:      glow.pad %x pads [0, 0, 3, 3, 0, 0, 3, 3] : tensor<1x3x230x230xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x3x115x2x115x2xf32>
// CHECK-NEXT: glow.transpose {{.*}} permutation [0, 1, 3, 5, 2, 4] : tensor<1x3x2x2x115x115xf32>
// CHECK-NEXT: glow.reshape {{.*}} : tensor<1x12x115x115xf32>
// CHECK-NEXT: cpu.pack {{.*}} lanes 16 : tensor<1x1x115x115x16xf32>
// CHECK-NEXT: cpu.winograd_conv2d {{.*}} input_channels 12 output_channels 64 kernel 4 tile 3 zero_taps {{.*}} : tensor<1x4x112x112x16xf32>
func.func @two(%x: tensor<1x3x224x224xf32>) -> tensor<1x64x112x112xf32> {
  %w = glow.splat 1.0 : tensor<64x3x7x7xf32>
  %y = glow.conv2d %x, %w strides [2, 2] pads [3, 3, 3, 3] : tensor<1x64x112x112xf32>
  func.return %y : tensor<1x64x112x112xf32>
}

// What no output reads at the end is cropped.
// CHECK-LABEL: func.func @four(
// CHECK:      glow.pad %x pads [0, 0, 2, 2, 0, 0, 0, -1] : tensor<1x3x228x228xf32>
// CHECK:      glow.reshape {{.*}} : tensor<1x48x57x57xf32>
// CHECK:      cpu.winograd_conv2d {{.*}} input_channels 48 output_channels 96 tile 4
func.func @four(%x: tensor<1x3x226x227xf32>) -> tensor<1x96x55x55xf32> {
  %w = glow.splat 1.0 : tensor<96x3x11x11xf32>
  %y = glow.conv2d %x, %w strides [4, 4] pads [2, 2, 1, 0] : tensor<1x96x55x55xf32>
  func.return %y : tensor<1x96x55x55xf32>
}

// Products of so many channels pass through a near cache, a part of a row at a time.
// CHECK-LABEL: func.func @wide(
// CHECK:      cpu.winograd_conv2d {{.*}} input_channels 12 output_channels 96 kernel 4 tile 3
func.func @wide(%x: tensor<1x3x224x224xf32>) -> tensor<1x96x110x110xf32> {
  %w = glow.splat 1.0 : tensor<96x3x7x7xf32>
  %y = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x96x110x110xf32>
  func.return %y : tensor<1x96x110x110xf32>
}

// Not only first layers.
// CHECK-LABEL: func.func @inner(
// CHECK:      cpu.winograd_conv2d {{.*}} input_channels 384 output_channels 64 tile 4
func.func @inner(%x: tensor<1x96x54x54xf32>) -> tensor<1x64x26x26xf32> {
  %w = glow.splat 1.0 : tensor<64x96x5x5xf32>
  %y = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x64x26x26xf32>
  func.return %y : tensor<1x64x26x26xf32>
}

// So many weights are more than a small network may grow by.
// CHECK-LABEL: func.func @heavy(
// CHECK-NOT:  cpu.winograd_conv2d
// CHECK:      func.return
func.func @heavy(%x: tensor<1x96x54x54xf32>) -> tensor<1x2048x26x26xf32> {
  %w = glow.splat 1.0 : tensor<2048x96x5x5xf32>
  %y = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x2048x26x26xf32>
  func.return %y : tensor<1x2048x26x26xf32>
}

// Two by two taps would be left of three by three.
// CHECK-LABEL: func.func @direct(
// CHECK-NOT:  cpu.winograd_conv2d
// CHECK:      func.return
func.func @direct(%x: tensor<1x3x224x224xf32>) -> tensor<1x64x112x112xf32> {
  %w = glow.splat 1.0 : tensor<64x3x3x3xf32>
  %y = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<1x64x112x112xf32>
  func.return %y : tensor<1x64x112x112xf32>
}

// Of one tap in rows that are short for wide registers a slice is left: 16 pixels are one run.
// RUN: glow-opt --assign-layout='target=avx2' %s | filecheck %s --check-prefix=AVX2
// CHECK-LABEL: func.func @sliced(
// CHECK:      glow.slice {{.*}} steps [1, 1, 2, 2] : tensor<1x512x4x4xf32>
// CHECK:      cpu.conv2d {{.*}} kernel [1, 1] : tensor<1x32x4x4x16xf32>
// AVX2-LABEL: func.func @sliced(
// AVX2-NOT: glow.slice
// AVX2:     cpu.conv2d {{.*}} strides [2, 2]
func.func @sliced(%x: tensor<1x512x8x8xf32>) -> tensor<1x512x4x4xf32> {
  %w = glow.splat 1.0 : tensor<512x512x1x1xf32>
  %y = glow.conv2d %x, %w strides [2, 2] : tensor<1x512x4x4xf32>
  func.return %y : tensor<1x512x4x4xf32>
}

// Of few channels a slice would take as long.
// AVX2-LABEL: func.func @whole(
// AVX2-NOT: glow.slice
// AVX2:     cpu.conv2d {{.*}} strides [2, 2]
func.func @whole(%x: tensor<1x16x56x56xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x16x1x1xf32>
  %y = glow.conv2d %x, %w strides [2, 2] : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}

// Bytes that are multiplied as 16-bit integers take tiles of few pixels, which rows of 14 leave gaps in.
// CHECK-LABEL: func.func @bytes(
// CHECK-NOT:  glow.slice
// CHECK:      cpu.int8_conv2d {{.*}} strides [2, 2]
// AVX2-LABEL: func.func @bytes(
// AVX2:      glow.slice %x {{.*}} steps [1, 1, 2, 2] : tensor<1x512x14x14xui8>
// AVX2:      cpu.int8_conv2d {{.*}} kernel [1, 1] : tensor<1x128x14x14x8xi32>
func.func @bytes(%x: tensor<1x512x28x28xui8>) -> tensor<1x1024x14x14xi32> {
  %w = glow.splat 3 : tensor<1024x512x1x1xi8>
  %z = glow.splat 3 : tensor<ui8>
  %p = glow.splat 0 : tensor<i8>
  %y = glow.conv2d_integer %x, %w, %z, %p strides [2, 2] : tensor<1x1024x14x14xi32>
  func.return %y : tensor<1x1024x14x14xi32>
}
