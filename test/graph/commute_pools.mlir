// RUN: glow-opt --commute-pools %s | filecheck %s

// CHECK-LABEL: func.func @monotone(
// CHECK-NEXT: %0 = glow.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
// CHECK-NEXT: %1 = glow.sigmoid %0 : tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %1 : tensor<1x2x2x2xf32>
func.func @monotone(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %0 = glow.sigmoid %x : tensor<1x2x4x4xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  func.return %1 : tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %0 = glow.avg_pool2d %x kernel [4, 3] : tensor<1x2x1x1xf32>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<1x2xf32>
// CHECK-NEXT: %2 = glow.avg_pool2d %x kernel [4, 3] : tensor<1x2x1x1xf32>
// CHECK-NEXT: func.return %1, %2 : tensor<1x2xf32>, tensor<1x2x1x1xf32>
func.func @mean(%x: tensor<1x2x4x3xf32>) -> (tensor<1x2xf32>, tensor<1x2x1x1xf32>) {
  %0 = glow.reduce_mean %x axes [2, 3] : tensor<1x2xf32>
  %1 = glow.reduce_mean %x axes [2, 3] keepdims : tensor<1x2x1x1xf32>
  func.return %0, %1 : tensor<1x2xf32>, tensor<1x2x1x1xf32>
}

// Large windows are those of rows, then of columns.
// CHECK-LABEL: func.func @large_windows(
// CHECK-NEXT: %0 = glow.max_pool2d %x kernel [1, 5] pads [0, 2, 0, 2] : tensor<1x2x9x8xf32>
// CHECK-NEXT: %1 = glow.max_pool2d %0 kernel [5, 1] pads [2, 0, 2, 0] : tensor<1x2x9x8xf32>
// CHECK-NEXT: %2 = glow.max_pool2d %x kernel [1, 7] strides [1, 2] pads [0, 0, 0, 1] ceil_mode : tensor<1x2x9x2xf32>
// CHECK-NEXT: %3 = glow.max_pool2d %2 kernel [6, 1] strides [2, 1] pads [1, 0, 0, 0] ceil_mode : tensor<1x2x3x2xf32>
// CHECK-NEXT: func.return %1, %3
func.func @large_windows(%x: tensor<1x2x9x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x3x2xf32>) {
  %0 = glow.max_pool2d %x kernel [5, 5] pads [2, 2, 2, 2] : tensor<1x2x9x8xf32>
  %1 = glow.max_pool2d %x kernel [6, 7] strides [2, 2] ceil_mode pads [1, 0, 0, 1] : tensor<1x2x3x2xf32>
  func.return %0, %1 : tensor<1x2x9x8xf32>, tensor<1x2x3x2xf32>
}
