// RUN: glow-opt --merge-branches %s | filecheck %s

// A 3x3, a 1x1 and a normalization: one 3x3. The 1x1 and the normalization read what the middle
// of the window does; of two channels, each is scaled for itself.
// CHECK-LABEL: func.func @branches(
// CHECK-DAG: %[[W:.*]] = glow.constant dense<{{.*}}3.500000e+00{{.*}}4.000000e+00{{.*}}5.000000e+00{{.*}}7.000000e+00{{.*}}> : tensor<2x2x3x3xf32>
// CHECK-DAG: %[[B:.*]] = glow.constant dense<[0.000000e+00, 2.500000e+01]> : tensor<2xf32>
// CHECK: %[[Y:.*]] = glow.conv2d %x, %[[W]], %[[B]] pads [1, 1, 1, 1] : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @branches(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %v = glow.constant dense<1.0> : tensor<2x2x3x3xf32>
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %w = glow.constant dense<[[[[2.0]], [[3.0]]], [[[4.0]], [[5.0]]]]> : tensor<2x2x1x1xf32>
  %b = glow.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %scale = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %shift = glow.constant dense<[-10.5, 4.0]> : tensor<2xf32>
  %mean = glow.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %variance = glow.constant dense<[4.0, 4.0]> : tensor<2xf32>
  %0 = glow.conv2d %x, %v, %a pads [1, 1, 1, 1] : tensor<1x2x4x4xf32>
  %1 = glow.conv2d %x, %w, %b : tensor<1x2x4x4xf32>
  %2 = glow.batch_norm %x, %scale, %shift, %mean, %variance epsilon 0.0 : tensor<1x2x4x4xf32>
  %3 = glow.add %0, %1 : tensor<1x2x4x4xf32>
  %4 = glow.add %2, %3 : tensor<1x2x4x4xf32>
  func.return %4 : tensor<1x2x4x4xf32>
}

// One channel: the weights in full. The first window of both begins in the same place.
// CHECK-LABEL: func.func @corner(
// CHECK: glow.constant dense<{{\[\[\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 1.400000e+01]]]]> : tensor<1x1x2x2xf32>
// CHECK: glow.conv2d %x, %{{[0-9]+}} strides [2, 2] pads [1, 1, 0, 0] : tensor<1x1x2x2xf32>
// CHECK-NOT: glow.add
func.func @corner(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %v = glow.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %w = glow.constant dense<10.0> : tensor<1x1x1x1xf32>
  %0 = glow.conv2d %x, %v strides [2, 2] pads [1, 1, 0, 0] : tensor<1x1x2x2xf32>
  %1 = glow.conv2d %x, %w strides [2, 2] : tensor<1x1x2x2xf32>
  %2 = glow.add %1, %0 : tensor<1x1x2x2xf32>
  func.return %2 : tensor<1x1x2x2xf32>
}

// Filters of each channel alone stay in their groups; without biases there is none.
// CHECK-LABEL: func.func @depthwise(
// CHECK: glow.conv2d %x, %{{[0-9]+}} pads [1, 1, 1, 1] group 2 : tensor<1x2x4x4xf32>
// CHECK-NOT: glow.add
func.func @depthwise(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %v = glow.constant dense<1.0> : tensor<2x1x3x3xf32>
  %w = glow.constant dense<2.0> : tensor<2x1x1x1xf32>
  %0 = glow.conv2d %x, %v pads [1, 1, 1, 1] group 2 : tensor<1x2x4x4xf32>
  %1 = glow.conv2d %x, %w group 2 : tensor<1x2x4x4xf32>
  %2 = glow.add %0, %1 : tensor<1x2x4x4xf32>
  func.return %2 : tensor<1x2x4x4xf32>
}
