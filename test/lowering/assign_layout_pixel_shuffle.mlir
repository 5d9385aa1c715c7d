// RUN: glow-opt --lower-nodes --fold-constants --assign-layout='target=avx2' --canonicalize %s | filecheck %s

// Phases of a transposed convolution are whole blocks, which become pixels of larger planes.
// CHECK-LABEL: func.func @transposed(
// CHECK: %[[C:.*]] = cpu.conv2d {{.*}} : tensor<1x8x5x6x8xf32>
// CHECK-NEXT: %[[S:.*]] = glow.reshape %[[C]] : tensor<1x2x2x2x5x6x8xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[S]] permutation [0, 3, 4, 1, 5, 2, 6] : tensor<1x2x5x2x6x2x8xf32>
// CHECK-NEXT: %[[P:.*]] = glow.reshape %[[T]] : tensor<1x2x10x12x8xf32>
// CHECK: cpu.unpack %{{.*}} channels 16 : tensor<1x16x10x12xf32>
func.func @transposed(%x: tensor<1x32x5x6xf32>) -> tensor<1x16x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<32x16x2x2xf32>
  %0 = glow.conv_transpose2d %x, %w strides [2, 2] : tensor<1x16x10x12xf32>
  %y = glow.relu %0 : tensor<1x16x10x12xf32>
  func.return %y : tensor<1x16x10x12xf32>
}

// Of volumes, depths are images: phases of the depth become images.
// CHECK-LABEL: func.func @volume(
// CHECK: %[[C:.*]] = cpu.conv2d {{.*}} : tensor<3x16x4x5x8xf32>
// CHECK-NEXT: %[[S:.*]] = glow.reshape %[[C]] : tensor<3x2x2x2x2x4x5x8xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[S]] permutation [0, 1, 4, 5, 2, 6, 3, 7] : tensor<3x2x2x4x2x5x2x8xf32>
// CHECK-NEXT: glow.reshape %[[T]] : tensor<6x2x8x10x8xf32>
func.func @volume(%x: tensor<1x32x3x4x5xf32>) -> tensor<1x16x6x8x10xf32> {
  %v = glow.constant dense<0.5> : tensor<32x32x3x3x3xf32>
  %w = glow.constant dense<0.5> : tensor<32x16x2x2x2xf32>
  %0 = glow.conv3d %x, %v pads [1, 1, 1, 1, 1, 1] : tensor<1x32x3x4x5xf32>
  %y = glow.conv_transpose3d %0, %w strides [2, 2, 2] : tensor<1x16x6x8x10xf32>
  func.return %y : tensor<1x16x6x8x10xf32>
}

// The shuffle of a super-resolution network whose phases come first.
// CHECK-LABEL: func.func @shuffle(
// CHECK: glow.transpose %{{.*}} permutation [0, 3, 4, 1, 5, 2, 6] : tensor<2x1x5x2x6x3x8xf32>
// CHECK-NEXT: glow.reshape %{{.*}} : tensor<2x1x10x18x8xf32>
func.func @shuffle(%x: tensor<2x16x5x6xf32>) -> tensor<2x8x10x18xf32> {
  %w = glow.constant dense<0.5> : tensor<48x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<2x48x5x6xf32>
  %1 = glow.reshape %0 : tensor<2x2x3x8x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 3, 4, 1, 5, 2] : tensor<2x8x5x2x6x3xf32>
  %y = glow.reshape %2 : tensor<2x8x10x18xf32>
  func.return %y : tensor<2x8x10x18xf32>
}
