// RUN: glow-opt --sink-reshapes %s | filecheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: %0 = glow.relu %x : tensor<2x6xf32>
// CHECK-NEXT: %1 = glow.clip %0 low -1.000000e+00 high 6.000000e+00 : tensor<2x6xf32>
// CHECK-NEXT: %2 = glow.reshape %1 : tensor<3x4xf32>
// CHECK-NEXT: func.return %2 : tensor<3x4xf32>
func.func @reshape(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = glow.reshape %x : tensor<3x4xf32>
  %1 = glow.relu %0 : tensor<3x4xf32>
  %2 = glow.clip %1 low -1.0 high 6.0 : tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @repetition(
// CHECK-NEXT: %0 = glow.exp %x : tensor<1x3xf32>
// CHECK-NEXT: %1 = glow.tile %0 repeats [4, 1] : tensor<4x3xf32>
// CHECK-NEXT: %2 = glow.sigmoid %x : tensor<1x3xf32>
// CHECK-NEXT: %3 = glow.broadcast %2 : tensor<5x1x3xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<4x3xf32>, tensor<5x1x3xf32>
func.func @repetition(%x: tensor<1x3xf32>) -> (tensor<4x3xf32>, tensor<5x1x3xf32>) {
  %0 = glow.tile %x repeats [4, 1] : tensor<4x3xf32>
  %1 = glow.exp %0 : tensor<4x3xf32>
  %2 = glow.broadcast %x : tensor<5x1x3xf32>
  %3 = glow.sigmoid %2 : tensor<5x1x3xf32>
  func.return %1, %3 : tensor<4x3xf32>, tensor<5x1x3xf32>
}

// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: %0 = glow.slice %x starts [3] sizes [2] steps [2] : tensor<2xf32>
// CHECK-NEXT: %1 = glow.exp %0 : tensor<2xf32>
// CHECK-NEXT: %2 = glow.slice %y starts [0, 0, 1, 0] sizes [1, 2, 2, 4] steps [1, 1, 1, 1] : tensor<1x2x2x4xf32>
// CHECK-NEXT: %3 = glow.batch_norm %2, %p, %p, %p, %p : tensor<1x2x2x4xf32>
// CHECK-NEXT: func.return %1, %3 : tensor<2xf32>, tensor<1x2x2x4xf32>
func.func @slices(%x: tensor<8xf32>, %y: tensor<1x2x4x4xf32>, %p: tensor<2xf32>) -> (tensor<2xf32>, tensor<1x2x2x4xf32>) {
  %0 = glow.exp %x : tensor<8xf32>
  %1 = glow.slice %0 starts [3] sizes [2] steps [2] : tensor<2xf32>
  %2 = glow.batch_norm %y, %p, %p, %p, %p : tensor<1x2x4x4xf32>
  %3 = glow.slice %2 starts [0, 0, 1, 0] sizes [1, 2, 2, 4] steps [1, 1, 1, 1] : tensor<1x2x2x4xf32>
  func.return %1, %3 : tensor<2xf32>, tensor<1x2x2x4xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK-NEXT: %0 = glow.concat %x, %y axis 0 : tensor<5xf32>
// CHECK-NEXT: %1 = glow.clip %0 low 0.000000e+00 high 1.000000e+00 : tensor<5xf32>
// CHECK-NEXT: func.return %1 : tensor<5xf32>
func.func @concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %0 = glow.clip %x low 0.0 high 1.0 : tensor<2xf32>
  %1 = glow.clip %y low 0.0 high 1.0 : tensor<3xf32>
  %2 = glow.concat %0, %1 axis 0 : tensor<5xf32>
  func.return %2 : tensor<5xf32>
}

// Biases of slices that lie beside each other (what merged products leave).
// CHECK-LABEL: func.func @join_arithmetic(
// CHECK-NEXT: %b = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %c = glow.constant dense<[3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %0 = glow.slice %x starts [0, 0] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
// CHECK-NEXT: %1 = glow.slice %x starts [0, 2] sizes [2, 3] steps [1, 1] : tensor<2x3xf32>
// CHECK-NEXT: %2 = glow.concat %0, %1 axis 1 : tensor<2x5xf32>
// CHECK-NEXT: %3 = glow.concat %b, %c axis 0 : tensor<5xf32>
// CHECK-NEXT: %4 = glow.add %2, %3 : tensor<2x5xf32>
// CHECK-NEXT: func.return %4 : tensor<2x5xf32>
func.func @join_arithmetic(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = glow.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %0 = glow.slice %x starts [0, 0] sizes [2, 2] steps [1, 1] : tensor<2x2xf32>
  %1 = glow.slice %x starts [0, 2] sizes [2, 3] steps [1, 1] : tensor<2x3xf32>
  %2 = glow.add %0, %b : tensor<2x2xf32>
  %3 = glow.add %1, %c : tensor<2x3xf32>
  %4 = glow.concat %2, %3 axis 1 : tensor<2x5xf32>
  func.return %4 : tensor<2x5xf32>
}

// Channels stay where they are, and the layer before the reshape may absorb the scale.
// CHECK-LABEL: func.func @batch_norm(
// CHECK: %[[N:.*]] = glow.batch_norm %x, %p, %p, %p, %p : tensor<1x2x3x4xf32>
// CHECK-NEXT: glow.reshape %[[N]] : tensor<1x2x12xf32>
func.func @batch_norm(%x: tensor<1x2x3x4xf32>, %p: tensor<2xf32>) -> tensor<1x2x12xf32> {
  %r = glow.reshape %x : tensor<1x2x12xf32>
  %y = glow.batch_norm %r, %p, %p, %p, %p : tensor<1x2x12xf32>
  func.return %y : tensor<1x2x12xf32>
}

// A layer on rows that were two axes, and are again behind it, is a product on all axes.
// CHECK-LABEL: func.func @layer_of_all_axes(
// CHECK-NEXT: %w = glow.constant
// CHECK-NEXT: %c = glow.constant
// CHECK-NEXT: %0 = glow.matmul %x, %w : tensor<2x5x4xf32>
// CHECK-NEXT: %1 = glow.add %0, %c : tensor<2x5x4xf32>
// CHECK-NEXT: %y = glow.reshape %1 : tensor<2x5x2x2xf32>
// CHECK-NEXT: func.return %y
func.func @layer_of_all_axes(%x: tensor<2x5x3xf32>) -> tensor<2x5x2x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0]]> : tensor<3x4xf32>
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = glow.reshape %x : tensor<10x3xf32>
  %1 = glow.fully_connected %0, %w : tensor<10x4xf32>
  %2 = glow.add %1, %c : tensor<10x4xf32>
  %y = glow.reshape %2 : tensor<2x5x2x2xf32>
  func.return %y : tensor<2x5x2x2xf32>
}

// Two reshapes are one.
// CHECK-LABEL: func.func @merge(
// CHECK-NEXT: %y = glow.reshape %x : tensor<3x4xf32>
// CHECK-NEXT: func.return %y
func.func @merge(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = glow.reshape %x : tensor<12xf32>
  %y = glow.reshape %0 : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// Scores of attention on other axes than its products.
// CHECK-LABEL: func.func @scores(
// CHECK-NEXT: %c = glow.splat 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %0 = glow.mul %x, %c : tensor<6x5x7xf32>
// CHECK-NEXT: %1 = glow.softmax %0 axis 2 : tensor<6x5x7xf32>
// CHECK-NEXT: func.return %1 : tensor<6x5x7xf32>
func.func @scores(%x: tensor<6x5x7xf32>) -> tensor<6x5x7xf32> {
  %c = glow.splat 0.5 : tensor<f32>
  %0 = glow.reshape %x : tensor<2x3x5x7xf32>
  %1 = glow.mul %0, %c : tensor<2x3x5x7xf32>
  %2 = glow.softmax %1 axis 3 : tensor<2x3x5x7xf32>
  %3 = glow.reshape %2 : tensor<6x5x7xf32>
  func.return %3 : tensor<6x5x7xf32>
}
