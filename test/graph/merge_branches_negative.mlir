// RUN: glow-opt --merge-branches %s | filecheck %s

// The input itself; another input; an activation; a branch that is read elsewhere; computed
// weights.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-5: glow.add
func.func @kept(%x: tensor<1x1x4x4xf32>, %z: tensor<1x1x4x4xf32>, %u: tensor<1x1x1x1xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %v = glow.constant dense<1.0> : tensor<1x1x3x3xf32>
  %w = glow.constant dense<10.0> : tensor<1x1x1x1xf32>
  %0 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  %1 = glow.add %0, %x : tensor<1x1x4x4xf32>
  %2 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  %3 = glow.conv2d %z, %w : tensor<1x1x4x4xf32>
  %4 = glow.add %2, %3 : tensor<1x1x4x4xf32>
  %5 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  %6 = glow.conv2d %x, %w activation "relu" : tensor<1x1x4x4xf32>
  %7 = glow.add %5, %6 : tensor<1x1x4x4xf32>
  %8 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  %9 = glow.conv2d %x, %w : tensor<1x1x4x4xf32>
  %10 = glow.add %8, %9 : tensor<1x1x4x4xf32>
  %11 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x1x4x4xf32>
  %12 = glow.conv2d %x, %u : tensor<1x1x4x4xf32>
  %13 = glow.add %11, %12 : tensor<1x1x4x4xf32>
  func.return %1, %4, %7, %9, %10, %13 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// Windows neither of which has all taps of the other; steps that differ; the larger window of
// each channel alone.
// CHECK-LABEL: func.func @windows(
// CHECK-COUNT-3: glow.add
func.func @windows(%x: tensor<1x2x5x5xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>) {
  %v = glow.constant dense<1.0> : tensor<2x2x3x1xf32>
  %w = glow.constant dense<2.0> : tensor<2x2x1x3xf32>
  %f = glow.constant dense<3.0> : tensor<2x2x3x3xf32>
  %g = glow.constant dense<4.0> : tensor<2x2x1x1xf32>
  %d = glow.constant dense<5.0> : tensor<2x1x3x3xf32>
  %0 = glow.conv2d %x, %v pads [1, 0, 1, 0] : tensor<1x2x5x5xf32>
  %1 = glow.conv2d %x, %w pads [0, 1, 0, 1] : tensor<1x2x5x5xf32>
  %2 = glow.add %0, %1 : tensor<1x2x5x5xf32>
  %3 = glow.conv2d %x, %f pads [1, 1, 1, 1] : tensor<1x2x5x5xf32>
  %4 = glow.conv2d %x, %f pads [2, 2, 2, 2] dilations [2, 2] : tensor<1x2x5x5xf32>
  %5 = glow.add %3, %4 : tensor<1x2x5x5xf32>
  %6 = glow.conv2d %x, %d pads [1, 1, 1, 1] group 2 : tensor<1x2x5x5xf32>
  %7 = glow.conv2d %x, %g : tensor<1x2x5x5xf32>
  %8 = glow.add %6, %7 : tensor<1x2x5x5xf32>
  func.return %2, %5, %8 : tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>
}
