// RUN: glow-opt --recognize-local-response-norm %s | filecheck %s

// The window is not in the middle: of three channels, two stand before.
// CHECK-LABEL: func.func @other_window(
// CHECK-NOT: local_response_norm
// CHECK: func.return
func.func @other_window(%x: tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %s = glow.mul %x, %x : tensor<2x5x4x4xf32>
  %p = glow.pad %s pads [0, 2, 0, 0, 0, 0, 0, 0] : tensor<2x7x4x4xf32>
  %0 = glow.slice %p starts [0, 0, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %1 = glow.slice %p starts [0, 1, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %2 = glow.slice %p starts [0, 2, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %3 = glow.add %1, %2 : tensor<2x5x4x4xf32>
  %t = glow.add %0, %3 : tensor<2x5x4x4xf32>
  %4 = glow.mul %t, %one : tensor<2x5x4x4xf32>
  %b = glow.add %4, %one : tensor<2x5x4x4xf32>
  %5 = glow.pow %b, %one : tensor<2x5x4x4xf32>
  %y = glow.div %x, %5 : tensor<2x5x4x4xf32>
  func.return %y : tensor<2x5x4x4xf32>
}

// A neighbour that counts twice, another one not at all.
// CHECK-LABEL: func.func @twice(
// CHECK-NOT: local_response_norm
// CHECK: func.return
func.func @twice(%x: tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %s = glow.mul %x, %x : tensor<2x5x4x4xf32>
  %p = glow.pad %s pads [0, 1, 0, 0, 0, 1, 0, 0] : tensor<2x7x4x4xf32>
  %0 = glow.slice %p starts [0, 0, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %1 = glow.slice %p starts [0, 1, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %3 = glow.add %1, %1 : tensor<2x5x4x4xf32>
  %t = glow.add %0, %3 : tensor<2x5x4x4xf32>
  %4 = glow.mul %t, %one : tensor<2x5x4x4xf32>
  %b = glow.add %4, %one : tensor<2x5x4x4xf32>
  %5 = glow.pow %b, %one : tensor<2x5x4x4xf32>
  %y = glow.div %x, %5 : tensor<2x5x4x4xf32>
  func.return %y : tensor<2x5x4x4xf32>
}

// The channels come back in the place of the rows.
// CHECK-LABEL: func.func @moved_elsewhere(
// CHECK-NOT: local_response_norm
// CHECK: func.return
func.func @moved_elsewhere(%x: tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %two = glow.splat 2.0 : tensor<f32>
  %s = glow.mul %x, %x : tensor<2x4x4x4xf32>
  %0 = glow.transpose %s permutation [0, 2, 3, 1] : tensor<2x4x4x4xf32>
  %2 = glow.avg_pool2d %0 count_include_pad kernel [1, 2] pads [0, 0, 0, 1] : tensor<2x4x4x4xf32>
  %3 = glow.mul %2, %two : tensor<2x4x4x4xf32>
  %5 = glow.transpose %3 permutation [0, 1, 3, 2] : tensor<2x4x4x4xf32>
  %6 = glow.mul %5, %two : tensor<2x4x4x4xf32>
  %b = glow.add %6, %one : tensor<2x4x4x4xf32>
  %7 = glow.pow %b, %two : tensor<2x4x4x4xf32>
  %y = glow.div %x, %7 : tensor<2x4x4x4xf32>
  func.return %y : tensor<2x4x4x4xf32>
}

// The squares of another value.
// CHECK-LABEL: func.func @other_value(
// CHECK-NOT: local_response_norm
// CHECK: func.return
func.func @other_value(%x: tensor<2x5x4x4xf32>, %z: tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32> {
  %one = glow.splat 1.0 : tensor<f32>
  %s = glow.mul %x, %z : tensor<2x5x4x4xf32>
  %p = glow.pad %s pads [0, 0, 0, 0, 0, 1, 0, 0] : tensor<2x6x4x4xf32>
  %0 = glow.slice %p starts [0, 0, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %1 = glow.slice %p starts [0, 1, 0, 0] sizes [2, 5, 4, 4] steps [1, 1, 1, 1] : tensor<2x5x4x4xf32>
  %t = glow.add %0, %1 : tensor<2x5x4x4xf32>
  %4 = glow.mul %t, %one : tensor<2x5x4x4xf32>
  %b = glow.add %4, %one : tensor<2x5x4x4xf32>
  %5 = glow.pow %b, %one : tensor<2x5x4x4xf32>
  %y = glow.div %x, %5 : tensor<2x5x4x4xf32>
  func.return %y : tensor<2x5x4x4xf32>
}
