// RUN: glow-opt --sink-reshapes %s | filecheck %s

// Somebody else reads the reshaped value, or what is sliced.
// CHECK-LABEL: func.func @other_readers(
// CHECK-NEXT: %0 = glow.reshape %x : tensor<3x4xf32>
// CHECK-NEXT: %1 = glow.relu %0 : tensor<3x4xf32>
// CHECK-NEXT: %2 = glow.exp %x : tensor<2x6xf32>
// CHECK-NEXT: %3 = glow.slice %2 starts [0, 0] sizes [1, 6] steps [1, 1] : tensor<1x6xf32>
// CHECK-NEXT: func.return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<2x6xf32>, tensor<1x6xf32>
func.func @other_readers(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<2x6xf32>, tensor<1x6xf32>) {
  %0 = glow.reshape %x : tensor<3x4xf32>
  %1 = glow.relu %0 : tensor<3x4xf32>
  %2 = glow.exp %x : tensor<2x6xf32>
  %3 = glow.slice %2 starts [0, 0] sizes [1, 6] steps [1, 1] : tensor<1x6xf32>
  func.return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<2x6xf32>, tensor<1x6xf32>
}

// Convolutions absorb their activations; two clips differ; channels are sliced.
// CHECK-LABEL: func.func @better_where_they_are(
// CHECK-NEXT: %0 = glow.conv2d %x, %w : tensor<1x2x2x2xf32>
// CHECK-NEXT: %1 = glow.relu %0 : tensor<1x2x2x2xf32>
// CHECK-NEXT: %2 = glow.relu %x : tensor<1x2x2x2xf32>
// CHECK-NEXT: %3 = glow.concat %1, %2 axis 1 : tensor<1x4x2x2xf32>
// CHECK-NEXT: %4 = glow.clip %x low 0.000000e+00 high 6.000000e+00 : tensor<1x2x2x2xf32>
// CHECK-NEXT: %5 = glow.clip %x low 0.000000e+00 high 1.000000e+00 : tensor<1x2x2x2xf32>
// CHECK-NEXT: %6 = glow.concat %4, %5 axis 1 : tensor<1x4x2x2xf32>
// CHECK-NEXT: %7 = glow.batch_norm %x, %p, %p, %p, %p : tensor<1x2x2x2xf32>
// CHECK-NEXT: %8 = glow.slice %7 starts [0, 1, 0, 0] sizes [1, 1, 2, 2] steps [1, 1, 1, 1] : tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return %3, %6, %8 : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x1x2x2xf32>
func.func @better_where_they_are(%x: tensor<1x2x2x2xf32>, %w: tensor<2x2x1x1xf32>, %p: tensor<2xf32>) -> (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = glow.conv2d %x, %w : tensor<1x2x2x2xf32>
  %1 = glow.relu %0 : tensor<1x2x2x2xf32>
  %2 = glow.relu %x : tensor<1x2x2x2xf32>
  %3 = glow.concat %1, %2 axis 1 : tensor<1x4x2x2xf32>
  %4 = glow.clip %x low 0.0 high 6.0 : tensor<1x2x2x2xf32>
  %5 = glow.clip %x low 0.0 high 1.0 : tensor<1x2x2x2xf32>
  %6 = glow.concat %4, %5 axis 1 : tensor<1x4x2x2xf32>
  %7 = glow.batch_norm %x, %p, %p, %p, %p : tensor<1x2x2x2xf32>
  %8 = glow.slice %7 starts [0, 1, 0, 0] sizes [1, 1, 2, 2] steps [1, 1, 1, 1] : tensor<1x1x2x2xf32>
  func.return %3, %6, %8 : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func.func @other_channels(
// CHECK-NEXT: glow.reshape
// CHECK-NEXT: glow.batch_norm
func.func @other_channels(%x: tensor<1x2x6xf32>, %p: tensor<3xf32>) -> tensor<1x3x4xf32> {
  %r = glow.reshape %x : tensor<1x3x4xf32>
  %y = glow.batch_norm %r, %p, %p, %p, %p : tensor<1x3x4xf32>
  func.return %y : tensor<1x3x4xf32>
}

// Rows that are no axes of the result, and a sum that others read.
// CHECK-LABEL: func.func @layers_that_stay(
// CHECK-NOT: glow.matmul
// CHECK: func.return
func.func @layers_that_stay(%x: tensor<2x5x3xf32>) -> (tensor<4x10xf32>, tensor<2x5x4xf32>, tensor<10x4xf32>) {
  %w = glow.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0]]> : tensor<3x4xf32>
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = glow.reshape %x : tensor<10x3xf32>
  %1 = glow.fully_connected %0, %w : tensor<10x4xf32>
  %2 = glow.reshape %1 : tensor<4x10xf32>
  %3 = glow.fully_connected %0, %w : tensor<10x4xf32>
  %4 = glow.add %3, %c : tensor<10x4xf32>
  %5 = glow.reshape %4 : tensor<2x5x4xf32>
  func.return %2, %5, %4 : tensor<4x10xf32>, tensor<2x5x4xf32>, tensor<10x4xf32>
}

// Other rows, another axis, numbers that are no single one, a mask that has the axes.
// CHECK-LABEL: func.func @other_rows(
// CHECK: %[[R:.*]] = glow.reshape %x : tensor<3x4xf32>
// CHECK-NEXT: glow.softmax %[[R]] axis 1 : tensor<3x4xf32>
// CHECK: %[[S:.*]] = glow.reshape %x : tensor<1x2x6xf32>
// CHECK-NEXT: glow.softmax %[[S]] axis 1 : tensor<1x2x6xf32>
// CHECK: %[[T:.*]] = glow.reshape %x : tensor<2x1x6xf32>
// CHECK-NEXT: glow.mul %[[T]], %m : tensor<2x1x6xf32>
func.func @other_rows(%x: tensor<2x6xf32>, %m: tensor<2x1x6xf32>) -> (tensor<3x4xf32>, tensor<1x2x6xf32>, tensor<2x1x6xf32>) {
  %0 = glow.reshape %x : tensor<3x4xf32>
  %1 = glow.softmax %0 axis 1 : tensor<3x4xf32>
  %2 = glow.reshape %x : tensor<1x2x6xf32>
  %3 = glow.softmax %2 axis 1 : tensor<1x2x6xf32>
  %4 = glow.reshape %x : tensor<2x1x6xf32>
  %5 = glow.mul %4, %m : tensor<2x1x6xf32>
  func.return %1, %3, %5 : tensor<3x4xf32>, tensor<1x2x6xf32>, tensor<2x1x6xf32>
}
