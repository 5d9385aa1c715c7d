// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s
// RUN: glow-opt --assign-layout='target=cortex-m4' %s | filecheck %s --check-prefix SOFT

// Four groups share a block of floats, whose sums of bytes are exact.
// CHECK-LABEL: func.func @narrow(
// CHECK: %[[W:.*]] = glow.convert %x : tensor<1x40x5x5xf32>
// CHECK: %[[C:.*]] = glow.sub %[[W]], {{.*}} : tensor<1x40x5x5xf32>
// CHECK: %[[B:.*]] = cpu.pack %[[C]] lanes 16
// CHECK: %[[S:.*]] = cpu.grouped_conv2d %[[B]], {{.*}} : tensor<1x3x5x5x16xf32>
// CHECK: glow.convert %[[S]] : tensor<1x3x5x5x16xi32>
// SOFT-LABEL: func.func @narrow(
// SOFT-NOT: f32
func.func @narrow(%x: tensor<1x40x5x5xui8>) -> tensor<1x40x5x5xi32> {
  %w = glow.splat 3 : tensor<40x4x3x3xi8>
  %z = glow.constant dense<5> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 10 pads [1, 1, 1, 1] : tensor<1x40x5x5xi32>
  func.return %0 : tensor<1x40x5x5xi32>
}

// Few groups are one with zeros between them.
// CHECK-LABEL: func.func @few(
// CHECK: cpu.int8_conv2d
func.func @few(%x: tensor<1x32x5x5xui8>) -> tensor<1x32x5x5xi32> {
  %w = glow.splat 3 : tensor<32x4x3x3xi8>
  %z = glow.constant dense<5> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 8 pads [1, 1, 1, 1] : tensor<1x32x5x5xi32>
  func.return %0 : tensor<1x32x5x5xi32>
}

// One filter for each channel has a kernel of bytes.
// CHECK-LABEL: func.func @depthwise(
// CHECK: cpu.int8_depthwise_conv2d
func.func @depthwise(%x: tensor<1x32x5x5xui8>) -> tensor<1x32x5x5xi32> {
  %w = glow.splat 3 : tensor<32x1x3x3xi8>
  %z = glow.constant dense<5> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 32 pads [1, 1, 1, 1] : tensor<1x32x5x5xi32>
  func.return %0 : tensor<1x32x5x5xi32>
}

// 255 * 127 * 24 * 5 * 5 is no whole number that f32 has.
// CHECK-LABEL: func.func @deep(
// CHECK-NOT: f32
// CHECK: func.return
func.func @deep(%x: tensor<1x216x5x5xui8>) -> tensor<1x216x1x1xi32> {
  %w = glow.splat 127 : tensor<216x24x5x5xi8>
  %z = glow.constant dense<0> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 9 : tensor<1x216x1x1xi32>
  func.return %0 : tensor<1x216x1x1xi32>
}

// Rows of no whole words get zeros, which zeros are multiplied by.
// CHECK-LABEL: func.func @words(
// CHECK: %[[P:.*]] = glow.pad %x pads [0, 0, 0, 3] : tensor<5x16xui8>
// CHECK: cpu.int8_matmul %[[P]], {{.*}} : tensor<5x7xi32>
func.func @words(%x: tensor<5x13xui8>) -> tensor<5x7xi32> {
  %w = glow.splat 3 : tensor<13x7xi8>
  %z = glow.constant dense<5> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<5x7xi32>
  func.return %0 : tensor<5x7xi32>
}
