// RUN: glow-opt --assign-layout='target=cortex-m4' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=wasm-simd' --dce %s | filecheck %s
// RUN: glow-opt --assign-layout='target=avx512' --dce %s | filecheck %s --check-prefix=WIDE

// The columns of a kernel become channels of a first layer: shifted copies of the image.
// CHECK-LABEL: func.func @stem(
// CHECK: %[[P:.*]] = glow.pad %x pads [0, 0, 0, 1, 0, 0, 0, 2] value 3.0{{.*}} : tensor<1x1x8x11xui8>
// CHECK: glow.slice %[[P]] starts [0, 0, 0, 0] sizes [1, 1, 8, 4] steps [1, 1, 1, 2]
// CHECK: glow.slice %[[P]] starts [0, 0, 0, 1]
// CHECK: glow.slice %[[P]] starts [0, 0, 0, 2]
// CHECK: glow.slice %[[P]] starts [0, 0, 0, 3]
// CHECK: glow.concat {{.*}} axis 1 : tensor<1x4x8x4xui8>
// CHECK: cpu.int8_conv2d {{.*}} input_channels 4 output_channels 8 {{.*}} zero_point 3 kernel [5, 1] strides [2, 1] pads [2, 0, 2, 0] : tensor<1x2x4x4x4xi32>
// WIDE-LABEL: func.func @stem(
// WIDE-NOT: glow.concat
// WIDE: cpu.int8_conv2d {{.*}} input_channels 1 output_channels 8
func.func @stem(%x: tensor<1x1x8x8xui8>) -> tensor<1x8x4x4xi32> {
  %w = glow.constant dense<3> : tensor<8x1x5x4xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p strides [2, 2] pads [2, 1, 2, 2] : tensor<1x8x4x4xi32>
  func.return %0 : tensor<1x8x4x4xi32>
}

// Where channels fill words, nothing is copied.
// CHECK-LABEL: func.func @colours(
// CHECK-NOT: glow.concat
// CHECK: cpu.int8_conv2d {{.*}} input_channels 3
func.func @colours(%x: tensor<1x3x8x8xui8>) -> tensor<1x8x6x6xi32> {
  %w = glow.constant dense<3> : tensor<8x3x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p : tensor<1x8x6x6xi32>
  func.return %0 : tensor<1x8x6x6xi32>
}
