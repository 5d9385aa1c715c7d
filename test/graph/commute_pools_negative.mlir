// RUN: glow-opt --commute-pools %s | filecheck %s

// Cosines go up and down; means of maxima are no maxima of means; somebody else reads.
// CHECK-LABEL: func.func @not_monotone(
// CHECK-NEXT: %0 = glow.cos %x : tensor<1x2x4x4xf32>
// CHECK-NEXT: %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %2 = glow.sigmoid %x : tensor<1x2x4x4xf32>
// CHECK-NEXT: %3 = glow.avg_pool2d %2 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %4 = glow.tanh %x : tensor<1x2x4x4xf32>
// CHECK-NEXT: %5 = glow.max_pool2d %4 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %1, %3, %4, %5 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>
func.func @not_monotone(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = glow.cos %x : tensor<1x2x4x4xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  %2 = glow.sigmoid %x : tensor<1x2x4x4xf32>
  %3 = glow.avg_pool2d %2 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  %4 = glow.tanh %x : tensor<1x2x4x4xf32>
  %5 = glow.max_pool2d %4 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  func.return %1, %3, %4, %5 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>
}

// Other axes; integers, whose mean truncates.
// CHECK-LABEL: func.func @not_the_plane(
// CHECK-NEXT: %0 = glow.reduce_mean %x axes [1, 2] : tensor<1x3xf32>
// CHECK-NEXT: %1 = glow.reduce_mean %i axes [2, 3] : tensor<1x2xi32>
// CHECK-NEXT: func.return %0, %1 : tensor<1x3xf32>, tensor<1x2xi32>
func.func @not_the_plane(%x: tensor<1x2x4x3xf32>, %i: tensor<1x2x4x3xi32>) -> (tensor<1x3xf32>, tensor<1x2xi32>) {
  %0 = glow.reduce_mean %x axes [1, 2] : tensor<1x3xf32>
  %1 = glow.reduce_mean %i axes [2, 3] : tensor<1x2xi32>
  func.return %0, %1 : tensor<1x3xf32>, tensor<1x2xi32>
}

// Small windows, those of whole planes, and those that move far read no fewer elements by axis.
// CHECK-LABEL: func.func @small_windows(
// CHECK-NEXT: %0 = glow.max_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x2x9x8xf32>
// CHECK-NEXT: %1 = glow.max_pool2d %x kernel [9, 8] : tensor<1x2x1x1xf32>
// CHECK-NEXT: %2 = glow.max_pool2d %x kernel [4, 4] strides [4, 4] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %3 = glow.max_pool2d %x kernel [1, 7] : tensor<1x2x9x2xf32>
// CHECK-NEXT: func.return
func.func @small_windows(%x: tensor<1x2x9x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x1x1xf32>, tensor<1x2x2x2xf32>, tensor<1x2x9x2xf32>) {
  %0 = glow.max_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x2x9x8xf32>
  %1 = glow.max_pool2d %x kernel [9, 8] : tensor<1x2x1x1xf32>
  %2 = glow.max_pool2d %x kernel [4, 4] strides [4, 4] : tensor<1x2x2x2xf32>
  %3 = glow.max_pool2d %x kernel [1, 7] : tensor<1x2x9x2xf32>
  func.return %0, %1, %2, %3 : tensor<1x2x9x8xf32>, tensor<1x2x1x1xf32>, tensor<1x2x2x2xf32>, tensor<1x2x9x2xf32>
}
