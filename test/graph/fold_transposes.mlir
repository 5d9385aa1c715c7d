// RUN: glow-opt --fold-transposes %s | filecheck %s

// CHECK-LABEL: func.func @layer(
// CHECK-NEXT: %0 = glow.constant dense<[[1.000000e+00], [3.000000e+00], [2.000000e+00], [4.000000e+00]]> : tensor<4x1xf32>
// CHECK-NEXT: %1 = glow.reshape %x : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.fully_connected %1, %0 : tensor<2x1xf32>
// CHECK-NEXT: func.return %2 : tensor<2x1xf32>
func.func @layer(%x: tensor<2x2x1x2xf32>) -> tensor<2x1xf32> {
  %w = glow.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %0 = glow.transpose %x permutation [0, 2, 3, 1] : tensor<2x1x2x2xf32>
  %1 = glow.reshape %0 : tensor<2x4xf32>
  %2 = glow.fully_connected %1, %w : tensor<2x1xf32>
  func.return %2 : tensor<2x1xf32>
}

// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT: %0 = glow.reduce_max %x axes [1, 2] : tensor<2x5xf32>
// CHECK-NEXT: %1 = glow.reshape %x : tensor<3x4x10xf32>
// CHECK-NEXT: %2 = glow.reduce_sum %1 axes [2] keepdims : tensor<3x4x1xf32>
// CHECK-NEXT: %3 = glow.transpose %2 permutation [1, 2, 0] : tensor<4x1x3xf32>
// CHECK-NEXT: %4 = glow.reduce_mean %x axes [2, 3] keepdims : tensor<2x3x1x1xf32>
// CHECK-NEXT: %5 = glow.transpose %4 permutation [0, 3, 2, 1] : tensor<2x1x1x3xf32>
// CHECK-NEXT: func.return %0, %3, %5 : tensor<2x5xf32>, tensor<4x1x3xf32>, tensor<2x1x1x3xf32>
func.func @reductions(%x: tensor<2x3x4x5xf32>) -> (tensor<2x5xf32>, tensor<4x1x3xf32>, tensor<2x1x1x3xf32>) {
  %0 = glow.transpose %x permutation [0, 2, 3, 1] : tensor<2x4x5x3xf32>
  %1 = glow.reduce_max %0 axes [1, 3] : tensor<2x5xf32>
  %2 = glow.reshape %x : tensor<3x4x10xf32>
  %3 = glow.transpose %2 permutation [1, 2, 0] : tensor<4x10x3xf32>
  %4 = glow.reduce_sum %3 axes [1] keepdims : tensor<4x1x3xf32>
  %5 = glow.transpose %x permutation [0, 3, 2, 1] : tensor<2x5x4x3xf32>
  %6 = glow.reduce_mean %5 axes [1, 2] keepdims : tensor<2x1x1x3xf32>
  func.return %1, %4, %6 : tensor<2x5xf32>, tensor<4x1x3xf32>, tensor<2x1x1x3xf32>
}

// CHECK-LABEL: func.func @below(
// CHECK-NEXT: %0 = glow.softmax %x axis 1 : tensor<2x3x4xf32>
// CHECK-NEXT: %1 = glow.transpose %0 permutation [2, 0, 1] : tensor<4x2x3xf32>
// CHECK-NEXT: %2 = glow.pad %x pads [1, 0, 0, 2, 0, 0] : tensor<5x3x4xf32>
// CHECK-NEXT: %3 = glow.transpose %2 permutation [2, 1, 0] : tensor<4x3x5xf32>
// CHECK-NEXT: %4 = glow.slice %x starts [0, 0, 1] sizes [1, 3, 3] steps [1, 1, 1] : tensor<1x3x3xf32>
// CHECK-NEXT: %5 = glow.transpose %4 permutation [2, 0, 1] : tensor<3x1x3xf32>
// CHECK-NEXT: %6 = glow.batch_norm %x, %p, %p, %p, %p : tensor<2x3x4xf32>
// CHECK-NEXT: %7 = glow.transpose %6 permutation [2, 1, 0] : tensor<4x3x2xf32>
// CHECK-NEXT: func.return %1, %3, %5, %7 : tensor<4x2x3xf32>, tensor<4x3x5xf32>, tensor<3x1x3xf32>, tensor<4x3x2xf32>
func.func @below(%x: tensor<2x3x4xf32>, %p: tensor<3xf32>) -> (tensor<4x2x3xf32>, tensor<4x3x5xf32>, tensor<3x1x3xf32>, tensor<4x3x2xf32>) {
  %0 = glow.transpose %x permutation [2, 0, 1] : tensor<4x2x3xf32>
  %1 = glow.softmax %0 axis 2 : tensor<4x2x3xf32>
  %2 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
  %3 = glow.pad %2 pads [0, 0, 1, 0, 0, 2] : tensor<4x3x5xf32>
  %4 = glow.transpose %x permutation [2, 0, 1] : tensor<4x2x3xf32>
  %5 = glow.slice %4 starts [1, 0, 0] sizes [3, 1, 3] steps [1, 1, 1] : tensor<3x1x3xf32>
  %6 = glow.transpose %x permutation [2, 1, 0] : tensor<4x3x2xf32>
  %7 = glow.batch_norm %6, %p, %p, %p, %p : tensor<4x3x2xf32>
  func.return %1, %3, %5, %7 : tensor<4x2x3xf32>, tensor<4x3x5xf32>, tensor<3x1x3xf32>, tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @repetition(
// CHECK-NEXT: %0 = glow.transpose %x permutation [2, 0, 1] : tensor<3x2x1xf32>
// CHECK-NEXT: %1 = glow.tile %0 repeats [1, 1, 4] : tensor<3x2x4xf32>
// CHECK-NEXT: %2 = glow.transpose %x permutation [2, 1, 0] : tensor<3x1x2xf32>
// CHECK-NEXT: %3 = glow.broadcast %2 : tensor<3x5x2xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<3x2x4xf32>, tensor<3x5x2xf32>
func.func @repetition(%x: tensor<2x1x3xf32>) -> (tensor<3x2x4xf32>, tensor<3x5x2xf32>) {
  %0 = glow.tile %x repeats [1, 4, 1] : tensor<2x4x3xf32>
  %1 = glow.transpose %0 permutation [2, 0, 1] : tensor<3x2x4xf32>
  %2 = glow.broadcast %x : tensor<2x5x3xf32>
  %3 = glow.transpose %2 permutation [2, 1, 0] : tensor<3x5x2xf32>
  func.return %1, %3 : tensor<3x2x4xf32>, tensor<3x5x2xf32>
}
