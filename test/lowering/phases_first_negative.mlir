// RUN: glow-opt --phases-first %s | filecheck %s

// CHECK-NOT: permutation [0, 3, 4, 1, 5, 2]

// Another node reads the convolution.
func.func @read(%x: tensor<1x8x5x6xf32>) -> (tensor<1x4x10x12xf32>, tensor<1x16x5x6xf32>) {
  %w = glow.constant dense<0.5> : tensor<16x8x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x16x5x6xf32>
  %1 = glow.reshape %0 : tensor<1x4x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x4x5x2x6x2xf32>
  %3 = glow.reshape %2 : tensor<1x4x10x12xf32>
  func.return %3, %0 : tensor<1x4x10x12xf32>, tensor<1x16x5x6xf32>
}

// Outputs of groups stay in them.
func.func @groups(%x: tensor<1x8x5x6xf32>) -> tensor<1x4x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<16x4x1x1xf32>
  %0 = glow.conv2d %x, %w group 2 : tensor<1x16x5x6xf32>
  %1 = glow.reshape %0 : tensor<1x4x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x4x5x2x6x2xf32>
  %3 = glow.reshape %2 : tensor<1x4x10x12xf32>
  func.return %3 : tensor<1x4x10x12xf32>
}

// Weights that are computed.
func.func @computed(%x: tensor<1x8x5x6xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<1x4x10x12xf32> {
  %0 = glow.conv2d %x, %w : tensor<1x16x5x6xf32>
  %1 = glow.reshape %0 : tensor<1x4x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x4x5x2x6x2xf32>
  %3 = glow.reshape %2 : tensor<1x4x10x12xf32>
  func.return %3 : tensor<1x4x10x12xf32>
}

// Channels that fill no block.
func.func @few(%x: tensor<1x8x5x6xf32>) -> tensor<1x3x10x12xf32> {
  %w = glow.constant dense<0.5> : tensor<12x8x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x12x5x6xf32>
  %1 = glow.reshape %0 : tensor<1x3x2x2x5x6xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x3x5x2x6x2xf32>
  %3 = glow.reshape %2 : tensor<1x3x10x12xf32>
  func.return %3 : tensor<1x3x10x12xf32>
}

// A plane that is split another way.
func.func @other(%x: tensor<1x8x4x6xf32>) -> tensor<1x4x6x16xf32> {
  %w = glow.constant dense<0.5> : tensor<16x8x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x16x4x6xf32>
  %1 = glow.reshape %0 : tensor<1x4x2x2x3x8xf32>
  %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x4x3x2x8x2xf32>
  %3 = glow.reshape %2 : tensor<1x4x6x16xf32>
  func.return %3 : tensor<1x4x6x16xf32>
}
