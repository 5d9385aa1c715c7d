// RUN: glow-opt --split-channels='target=cortex-m4_with-size' --split-input-file %s | filecheck %s
// RUN: glow-opt --split-channels='target=cortex-m4' --split-input-file %s | filecheck %s --check-prefix=SPEED

// What lies between is 16 times what the rest needs: a part for each block of four channels.
// SPEED-NOT: glow.concat
// CHECK-LABEL: func.func @wide(
// CHECK:      %[[A:.*]] = glow.conv2d %c, %{{.*}}, %{{.*}} : tensor<1x4x16x16xf32>
// CHECK-NEXT: glow.constant
// CHECK-NEXT: %[[P:.*]] = glow.conv2d %[[A]], %{{.*}} strides [4, 4] group 4 : tensor<1x4x4x4xf32>
// CHECK:      %[[B:.*]] = glow.conv2d %c, %{{.*}}, %{{.*}} : tensor<1x4x16x16xf32>
// CHECK-NEXT: glow.constant
// CHECK-NEXT: %[[Q:.*]] = glow.conv2d %[[B]], %{{.*}} strides [4, 4] group 4 : tensor<1x4x4x4xf32>
// CHECK-NEXT: %[[D:.*]] = glow.concat %[[P]], %[[Q]] axis 1 : tensor<1x8x4x4xf32>
// CHECK-NEXT: func.return %[[D]]
func.func @wide(%x: tensor<1x1x16x16xf32>) -> tensor<1x8x4x4xf32> {
  %u = glow.splat 0.5 : tensor<1x1x1x1xf32>
  %w = glow.splat 0.5 : tensor<8x1x1x1xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %v = glow.splat 0.25 : tensor<8x1x3x3xf32>
  %c = glow.conv2d %x, %u : tensor<1x1x16x16xf32>
  %d = glow.conv2d %c, %w, %b : tensor<1x8x16x16xf32>
  %e = glow.conv2d %d, %v strides [4, 4] group 8 : tensor<1x8x4x4xf32>
  func.return %e : tensor<1x8x4x4xf32>
}

// -----

// Channels keep their scales. The node before needs so much memory that two parts are enough.
// CHECK-LABEL: func.func @scales(
// CHECK: tensor<8x8x1x1x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01}>>
// CHECK: glow.max_pool2d %{{.*}} kernel [2, 2] strides [2, 2] : tensor<1x8x4x4x!quant.uniform<u8:f32, 6.250000e-02>>
// CHECK: tensor<8x8x1x1x!quant.uniform<i8:f32:0, {2.500000e-01, 5.000000e-01
// CHECK: glow.max_pool2d
// CHECK: glow.concat %{{.*}}, %{{.*}} axis 1 : tensor<1x16x4x4x!quant.uniform<u8:f32, 6.250000e-02>>
func.func @scales(%x: tensor<1x1x8x8xui8>) -> tensor<1x1x1x1xf32> {
  %0 = glow.scast %x : tensor<1x1x8x8xui8> to tensor<1x1x8x8x!quant.uniform<u8:f32, 0.125>>
  %t = glow.constant dense<1> : tensor<12x1x1x1xi8> as tensor<12x1x1x1x!quant.uniform<i8:f32, 0.5>>
  %u = glow.constant dense<1> : tensor<8x12x1x1xi8> as tensor<8x12x1x1x!quant.uniform<i8:f32, 0.5>>
  %w = glow.constant dense<1> : tensor<16x8x1x1xi8> as tensor<16x8x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5}>>
  %s = glow.conv2d %0, %t : tensor<1x12x8x8x!quant.uniform<u8:f32, 0.0625>>
  %1 = glow.conv2d %s, %u : tensor<1x8x8x8x!quant.uniform<u8:f32, 0.0625>>
  %2 = glow.conv2d %1, %w : tensor<1x16x8x8x!quant.uniform<u8:f32, 0.0625>>
  %3 = glow.max_pool2d %2 kernel [2, 2] strides [2, 2] : tensor<1x16x4x4x!quant.uniform<u8:f32, 0.0625>>
  %v = glow.constant dense<1> : tensor<1x16x4x4xi8> as tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
  %4 = glow.conv2d %3, %v : tensor<1x1x1x1xf32>
  func.return %4 : tensor<1x1x1x1xf32>
}

// -----

// Nothing is saved: the pair's operand and result are as large, or something else reads what is
// between.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: glow.concat
func.func @narrow(%x: tensor<1x8x8x8xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) {
  %w = glow.splat 0.5 : tensor<8x8x1x1xf32>
  %v = glow.splat 0.25 : tensor<8x1x3x3xf32>
  %a = glow.conv2d %x, %w : tensor<1x8x8x8xf32>
  %b = glow.conv2d %a, %w : tensor<1x8x8x8xf32>
  %c = glow.conv2d %b, %v pads [1, 1, 1, 1] group 8 : tensor<1x8x8x8xf32>
  %d = glow.conv2d %c, %w : tensor<1x8x8x8xf32>
  %e = glow.conv2d %d, %v pads [1, 1, 1, 1] group 8 : tensor<1x8x8x8xf32>
  func.return %e, %d : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>
}
