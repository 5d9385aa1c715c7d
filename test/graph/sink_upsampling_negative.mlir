// RUN: glow-opt --sink-upsampling %s | filecheck %s

// Few channels save less than the additions cost.
// CHECK-LABEL: func.func @few_channels(
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @few_channels(%x: tensor<1x32x8x8xf32>) -> tensor<1x2x8x16xf32> {
  %places = glow.splat 3 : tensor<16xi64>
  %w = glow.splat 0.5 : tensor<2x32x1x1xf32>
  %0 = glow.gather %x, %places axis 3 : tensor<1x32x8x16xf32>
  %z = glow.conv2d %0, %w : tensor<1x2x8x16xf32>
  func.return %z : tensor<1x2x8x16xf32>
}

// Neighbours that were repeated.
// CHECK-LABEL: func.func @three_by_three(
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @three_by_three(%x: tensor<1x64x8x8xf32>) -> tensor<1x2x6x30xf32> {
  %places = glow.splat 3 : tensor<32xi64>
  %w = glow.splat 0.5 : tensor<2x64x3x3xf32>
  %0 = glow.gather %x, %places axis 3 : tensor<1x64x8x32xf32>
  %z = glow.conv2d %0, %w : tensor<1x2x6x30xf32>
  func.return %z : tensor<1x2x6x30xf32>
}

// Groups do not read all parts.
// CHECK-LABEL: func.func @groups(
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @groups(%x: tensor<1x128x8x8xf32>) -> tensor<1x2x8x32xf32> {
  %places = glow.splat 3 : tensor<32xi64>
  %w = glow.splat 0.5 : tensor<2x64x1x1xf32>
  %0 = glow.gather %x, %places axis 3 : tensor<1x128x8x32xf32>
  %z = glow.conv2d %0, %w group 2 : tensor<1x2x8x32xf32>
  func.return %z : tensor<1x2x8x32xf32>
}

// Weights that are computed cannot be taken apart for nothing.
// CHECK-LABEL: func.func @computed(
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @computed(%x: tensor<1x64x8x8xf32>, %w: tensor<2x64x1x1xf32>) -> tensor<1x2x8x32xf32> {
  %places = glow.splat 3 : tensor<32xi64>
  %0 = glow.gather %x, %places axis 3 : tensor<1x64x8x32xf32>
  %z = glow.conv2d %0, %w : tensor<1x2x8x32xf32>
  func.return %z : tensor<1x2x8x32xf32>
}

// The largest of products is no sum, and a gather of channels moves no pixels.
// CHECK-LABEL: func.func @largest(
// CHECK: glow.sample {{.*}} largest
// CHECK: glow.gather
// CHECK: glow.conv2d
func.func @largest(%x: tensor<1x64x8x8xf32>, %places: tensor<32x2xi64>, %shares: tensor<32x2xf32>) -> tensor<1x2x8x32xf32> {
  %channels = glow.splat 3 : tensor<96xi64>
  %w = glow.splat 0.5 : tensor<2x96x1x1xf32>
  %0 = glow.sample %x, %places, %shares axis 3 largest : tensor<1x64x8x32xf32>
  %1 = glow.gather %0, %channels axis 1 : tensor<1x96x8x32xf32>
  %z = glow.conv2d %1, %w : tensor<1x2x8x32xf32>
  func.return %z : tensor<1x2x8x32xf32>
}

// Shares that are not known may not add up to one, as the bias must.
// CHECK-LABEL: func.func @bias(
// CHECK: glow.sample
// CHECK: glow.conv2d
func.func @bias(%x: tensor<1x64x8x8xf32>, %b: tensor<2xf32>, %places: tensor<32x2xi64>, %shares: tensor<32x2xf32>) -> tensor<1x2x8x32xf32> {
  %w = glow.splat 0.5 : tensor<2x64x1x1xf32>
  %0 = glow.sample %x, %places, %shares axis 3 : tensor<1x64x8x32xf32>
  %z = glow.conv2d %0, %w, %b : tensor<1x2x8x32xf32>
  func.return %z : tensor<1x2x8x32xf32>
}
