// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize %s | filecheck %s
// RUN: glow-opt --lower-nodes --assign-layout='target=avx2' --canonicalize --fuse-epilogue --canonicalize %s | filecheck %s --check-prefix=FUSED

// Volumes between convolutions are planes, and stay in blocks; so does a sum of two.
// CHECK-LABEL: func.func @residual(
// CHECK:       cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[RELU:%.*]] = glow.relu {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[PADDED:%.*]] = glow.pad [[RELU]] pads [1, 0, 0, 0, 0, 1, 0, 0, 0, 0] : tensor<6x2x6x6x8xf32>
// CHECK-NEXT:  glow.slice [[PADDED]] starts [0, 0, 0, 0, 0] {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK:       glow.concat {{.*}} axis 1 : tensor<4x6x6x6x8xf32>
// CHECK:       [[CONV:%.*]] = cpu.conv2d {{.*}} : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[SUM:%.*]] = glow.add [[CONV]], [[RELU]] : tensor<4x2x6x6x8xf32>
// CHECK-NEXT:  [[PLAIN:%.*]] = cpu.unpack [[SUM]] channels 16 : tensor<4x16x6x6xf32>
// CHECK-NEXT:  glow.reshape [[PLAIN]] : tensor<1x4x16x6x6xf32>
// CHECK-NEXT:  glow.transpose
// CHECK-NEXT:  func.return

// The activation is part of the convolution's kernel.
// FUSED-LABEL: func.func @residual(
// FUSED-NOT:   glow.relu
func.func @residual(%x: tensor<1x3x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %v = glow.splat 0.5 : tensor<16x16x3x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.relu %0 : tensor<1x16x4x6x6xf32>
  %2 = glow.conv3d %1, %v pads [1, 1, 1, 1, 1, 1] : tensor<1x16x4x6x6xf32>
  %3 = glow.add %2, %1 : tensor<1x16x4x6x6xf32>
  func.return %3 : tensor<1x16x4x6x6xf32>
}

// A volume from elsewhere is none of planes in blocks.
// CHECK-LABEL: func.func @elsewhere(
// CHECK:       glow.add %{{.*}}, %y : tensor<1x16x4x6x6xf32>
func.func @elsewhere(%x: tensor<1x3x4x6x6xf32>, %y: tensor<1x16x4x6x6xf32>) -> tensor<1x16x4x6x6xf32> {
  %w = glow.splat 0.25 : tensor<16x3x1x3x3xf32>
  %0 = glow.conv3d %x, %w pads [0, 1, 1, 0, 1, 1] : tensor<1x16x4x6x6xf32>
  %1 = glow.add %0, %y : tensor<1x16x4x6x6xf32>
  func.return %1 : tensor<1x16x4x6x6xf32>
}
