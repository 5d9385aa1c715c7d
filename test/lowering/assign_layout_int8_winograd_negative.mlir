// RUN: glow-opt --assign-layout='target=wasm-simd' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=wasm-relaxed-simd' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=wasm-simd_with-size' --dce %s | filecheck %s --check-prefix=NONE
// RUN: glow-opt --assign-layout='target=wasm-simd numerics=exact' --dce %s | filecheck %s --check-prefix=NONE
// RUN: glow-opt --assign-layout='target=neon' --dce %s | filecheck %s --check-prefix=NONE
// RUN: glow-opt --assign-layout='target=cortex-m4' --dce %s | filecheck %s --check-prefix=NONE
// RUN: glow-opt --assign-layout='target=wasm' --dce %s | filecheck %s --check-prefix=NONE

// Neither for size, nor for direct sums, nor where bytes are not multiplied as words.
// NONE-NOT: winograd

// Other strides, dilations, pads, kernels, groups, small planes and few channels have direct sums.
// CHECK-LABEL: func.func @strides(
// CHECK-NOT: winograd
func.func @strides(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x4x4xi32> {
  %w = glow.splat 1 : tensor<16x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p strides [2, 2] pads [1, 1, 1, 1] : tensor<1x16x4x4xi32>
  func.return %0 : tensor<1x16x4x4xi32>
}

func.func @dilations(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x4x4xi32> {
  %w = glow.splat 1 : tensor<16x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p dilations [2, 2] : tensor<1x16x4x4xi32>
  func.return %0 : tensor<1x16x4x4xi32>
}

func.func @wide_pads(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x10x10xi32> {
  %w = glow.splat 1 : tensor<16x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [2, 2, 2, 2] : tensor<1x16x10x10xi32>
  func.return %0 : tensor<1x16x10x10xi32>
}

func.func @kernel(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x4x4xi32> {
  %w = glow.splat 1 : tensor<16x16x5x5xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x16x4x4xi32>
  func.return %0 : tensor<1x16x4x4xi32>
}

func.func @groups(%x: tensor<1x16x8x8xui8>) -> tensor<1x16x8x8xi32> {
  %w = glow.splat 1 : tensor<16x8x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group 2 pads [1, 1, 1, 1] : tensor<1x16x8x8xi32>
  func.return %0 : tensor<1x16x8x8xi32>
}

func.func @small(%x: tensor<1x16x1x8xui8>) -> tensor<1x16x1x8xi32> {
  %w = glow.splat 1 : tensor<16x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x16x1x8xi32>
  func.return %0 : tensor<1x16x1x8xi32>
}

func.func @few(%x: tensor<1x3x8x8xui8>) -> tensor<1x16x8x8xi32> {
  %w = glow.splat 1 : tensor<16x3x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x16x8x8xi32>
  func.return %0 : tensor<1x16x8x8xi32>
}
