// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512' --dce %s | filecheck %s --check-prefix=BYTES
// RUN: glow-opt --assign-layout='target=avx2_with-size' --dce %s | filecheck %s --check-prefix=BYTES
// RUN: glow-opt --assign-layout='target=wasm-simd' --dce %s | filecheck %s --check-prefix=BYTES
// RUN: glow-opt --assign-layout='target=neon' --dce %s | filecheck %s --check-prefix=BYTES

// x86 without int8 dot products multiplies 16-bit integers in pairs: direct convolutions read
// bytes as those, two channels at a time. They take twice the memory, of which a program that is
// optimized for size has little.
// CHECK-LABEL: func.func @pointwise(
// CHECK:       %[[X:.*]] = cpu.pack %x lanes 8 : tensor<1x2x8x8x8xui8>
// CHECK:       %[[WIDE:.*]] = glow.convert %[[X]] : tensor<1x2x8x8x8xi16>
// CHECK:       cpu.int8_conv2d %[[WIDE]], {{.*}} : tensor<1x2x8x8x8xi32>
// BYTES-LABEL: func.func @pointwise(
// BYTES-NOT:   glow.convert
func.func @pointwise(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x8x8xi32> {
  %w = glow.splat 1 : tensor<16x16x1x1xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x16x8x8xi32>
  func.return %0 : tensor<1x16x8x8xi32>
}

// A first layer's blocks hold four channels: two pairs.
// CHECK-LABEL: func.func @first(
// CHECK:       cpu.pack %x lanes 4 : tensor<1x1x8x8x4xui8>
// CHECK:       glow.convert {{.*}} : tensor<1x1x8x8x4xi16>
func.func @first(%x: tensor<1x3x8x8xui8>) -> tensor<1x16x4x4xi32> {
  %w = glow.splat 1 : tensor<16x3x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p strides [2, 2] pads [1, 1, 1, 1] : tensor<1x16x4x4xi32>
  func.return %0 : tensor<1x16x4x4xi32>
}

// So do the rows of products with constant weights.
// CHECK-LABEL: func.func @rows(
// CHECK:       %[[ROWS:.*]] = glow.convert %x : tensor<3x8xi16>
// CHECK:       cpu.int8_matmul %[[ROWS]], {{.*}} : tensor<3x5xi32>
// BYTES-LABEL: func.func @rows(
// BYTES-NOT:   glow.convert
func.func @rows(%x: tensor<3x8xui8>) -> tensor<3x5xi32> {
  %w = glow.splat 1 : tensor<8x5xi8>
  %z = glow.constant dense<2> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<3x5xi32>
  func.return %0 : tensor<3x5xi32>
}

// Taps that are transformed, and channels with filters of their own, read bytes.
// CHECK-LABEL: func.func @transformed(
// CHECK-NOT:   glow.convert
// CHECK:       cpu.int8_winograd_conv2d
func.func @transformed(%x: tensor<1x64x28x28xui8>) -> tensor<1x64x28x28xi32> {
  %w = glow.splat 1 : tensor<64x64x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x64x28x28xi32>
  func.return %0 : tensor<1x64x28x28xi32>
}

// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT:   glow.convert
// CHECK:       cpu.int8_depthwise_conv2d
func.func @depthwise(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x8x8xi32> {
  %w = glow.splat 1 : tensor<16x1x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 16 pads [1, 1, 1, 1] : tensor<1x16x8x8xi32>
  func.return %0 : tensor<1x16x8x8xi32>
}
