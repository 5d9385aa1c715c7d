// RUN: glow-opt --assign-layout='target=avx2' --dce %s | filecheck %s

// An image in blocks as rows of channels: registers are moved once.
// CHECK-LABEL: func.func @tokens(
// CHECK:      %[[C:.*]] = cpu.conv2d {{.*}} : tensor<2x2x5x7x8xf32>
// CHECK-NEXT: %[[R:.*]] = glow.reshape %[[C]] : tensor<2x2x35x8xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[R]] permutation [0, 2, 1, 3] : tensor<2x35x2x8xf32>
// CHECK-NEXT: %[[Y:.*]] = glow.reshape %[[T]] : tensor<2x35x16xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @tokens(%x: tensor<2x16x5x7xf32>) -> tensor<2x35x16xf32> {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  %1 = glow.reshape %0 : tensor<2x16x35xf32>
  %2 = glow.transpose %1 permutation [0, 2, 1] : tensor<2x35x16xf32>
  func.return %2 : tensor<2x35x16xf32>
}

// The last axis of an image, and a product that reads channels as columns.
// CHECK-LABEL: func.func @channels_last(
// CHECK:      %[[C:.*]] = cpu.conv2d
// CHECK:      glow.transpose %{{.*}} permutation [0, 2, 1, 3] : tensor<2x35x2x8xf32>
// CHECK:      glow.reshape %{{.*}} : tensor<2x5x7x16xf32>
// CHECK:      glow.transpose %{{.*}} permutation [0, 2, 1, 3] : tensor<2x35x2x8xf32>
// CHECK-NEXT: %[[R:.*]] = glow.reshape %{{.*}} : tensor<2x35x16xf32>
// CHECK-NEXT: cpu.matmul %[[R]], {{.*}} : tensor<2x35x9xf32>
// CHECK-NOT:  cpu.unpack
func.func @channels_last(%x: tensor<2x16x5x7xf32>) -> (tensor<2x5x7x16xf32>, tensor<2x35x9xf32>) {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %m = glow.splat 0.5 : tensor<16x9xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  %1 = glow.transpose %0 permutation [0, 2, 3, 1] : tensor<2x5x7x16xf32>
  %2 = glow.reshape %0 : tensor<2x16x35xf32>
  %3 = glow.matmul %2, %m transpose_lhs : tensor<2x35x9xf32>
  func.return %1, %3 : tensor<2x5x7x16xf32>, tensor<2x35x9xf32>
}

// And back.
// CHECK-LABEL: func.func @images(
// CHECK:      %[[R:.*]] = glow.reshape %x : tensor<2x35x2x8xf32>
// CHECK-NEXT: %[[T:.*]] = glow.transpose %[[R]] permutation [0, 2, 1, 3] : tensor<2x2x35x8xf32>
// CHECK-NEXT: %[[B:.*]] = glow.reshape %[[T]] : tensor<2x2x5x7x8xf32>
// CHECK-NEXT: cpu.conv2d %[[B]]
// CHECK:      %[[S:.*]] = glow.reshape %y : tensor<2x35x2x8xf32>
// CHECK-NEXT: glow.transpose %[[S]] permutation [0, 2, 1, 3] : tensor<2x2x35x8xf32>
func.func @images(%x: tensor<2x35x16xf32>, %y: tensor<2x5x7x16xf32>) -> (tensor<2x16x5x7xf32>, tensor<2x16x5x7xf32>) {
  %w = glow.splat 0.25 : tensor<16x16x3x3xf32>
  %0 = glow.transpose %x permutation [0, 2, 1] : tensor<2x16x35xf32>
  %1 = glow.reshape %0 : tensor<2x16x5x7xf32>
  %2 = glow.conv2d %1, %w pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  %3 = glow.transpose %y permutation [0, 3, 1, 2] : tensor<2x16x5x7xf32>
  %4 = glow.conv2d %3, %w pads [1, 1, 1, 1] : tensor<2x16x5x7xf32>
  func.return %2, %4 : tensor<2x16x5x7xf32>, tensor<2x16x5x7xf32>
}
