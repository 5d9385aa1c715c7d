// RUN: glow-opt --assign-layout='target=cortex-m4_with-size' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=neon_with-size' --dce %s | filecheck %s --check-prefix=VECTORS

// For size, tiles of bytes are one pixel, and no algorithm takes more weights than direct sums.
// Blocks hold four channels, a word of bytes, though a vector has one lane.
// CHECK: builtin.module attributes {glow.target = #glow.target<{{.*}}features = ["fma", "smlad", "size"]
// CHECK: cpu.int8_conv2d {{.*}}order = pixels{{.*}} panels #cpu.panels<blocks = 1, lanes = 4>
// CHECK: cpu.conv2d
// CHECK-NOT: winograd
// VECTORS: order = pixels
// VECTORS-NOT: winograd
func.func @main(%x: tensor<1x16x16x16xui8>, %y: tensor<1x64x56x56xf32>)
    -> (tensor<1x8x16x16xi32>, tensor<1x64x56x56xf32>) {
  %w = glow.splat 1 : tensor<8x16x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x8x16x16xi32>
  %v = glow.splat 0.5 : tensor<64x64x3x3xf32>
  %b = glow.splat 1.0 : tensor<64xf32>
  %1 = glow.conv2d %y, %v, %b pads [1, 1, 1, 1] : tensor<1x64x56x56xf32>
  func.return %0, %1 : tensor<1x8x16x16xi32>, tensor<1x64x56x56xf32>
}
