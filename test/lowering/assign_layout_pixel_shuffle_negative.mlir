// RUN: glow-opt --lower-nodes --fold-constants --assign-layout='target=avx2' --canonicalize %s | filecheck %s

// CHECK-NOT: glow.transpose {{.*}} permutation [0, 3, 4, 1, 5, 2, 6]

// Channels that fill no block.
func.func @few(%x: tensor<1x32x5x6xf32>) -> tensor<1x12x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<32x12x2x2xf32>
  %y = glow.conv_transpose2d %x, %w strides [2, 2] : tensor<1x12x10x12xf32>
  func.return %y : tensor<1x12x10x12xf32>
}

// Groups, whose phases stay in them.
func.func @groups(%x: tensor<1x32x5x6xf32>) -> tensor<1x32x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<32x16x2x2xf32>
  %y = glow.conv_transpose2d %x, %w strides [2, 2] group 2 : tensor<1x32x10x12xf32>
  func.return %y : tensor<1x32x10x12xf32>
}

// Phases behind the channels.
func.func @behind(%x: tensor<2x16x5x6xf32>) -> tensor<2x8x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<32x16x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<2x32x5x6xf32>
  %1 = glow.reshape %0 : tensor<2x8x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<2x8x5x2x6x2xf32>
  %y = glow.reshape %2 : tensor<2x8x10x12xf32>
  func.return %y : tensor<2x8x10x12xf32>
}

// Sizes that are split another way.
func.func @other(%x: tensor<1x32x4x6xf32>) -> tensor<1x8x6x16xf32> {
  %w = glow.constant dense<0.5> : tensor<32x32x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x32x4x6xf32>
  %1 = glow.reshape %0 : tensor<1x2x2x8x3x8xf32>
  %2 = glow.transpose %1 permutation [0, 3, 4, 1, 5, 2] : tensor<1x8x3x2x8x2xf32>
  %y = glow.reshape %2 : tensor<1x8x6x16xf32>
  func.return %y : tensor<1x8x6x16xf32>
}
