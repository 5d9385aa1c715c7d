// RUN: glow-opt --sink-upsampling %s | filecheck %s

// 64 channels of 8 x 8 pixels become 16 x 16, beside 64 that have as many already.
// CHECK-LABEL: func.func @linear(
// CHECK:      [[V0:%.*]] = glow.conv2d %y, {{%.*}}, %b : tensor<1x2x16x16xf32>
// CHECK:      [[V1:%.*]] = glow.conv2d %x, {{%.*}} : tensor<1x2x8x8xf32>
// CHECK-NEXT: [[V2:%.*]] = glow.sample [[V1]], %places, %shares axis 3 : tensor<1x2x8x16xf32>
// CHECK-NEXT: [[V3:%.*]] = glow.sample [[V2]], %places, %shares axis 2 : tensor<1x2x16x16xf32>
// CHECK-NEXT: %z = glow.add [[V0]], [[V3]] : tensor<1x2x16x16xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x16x16xf32>
func.func @linear(%x: tensor<1x64x8x8xf32>, %y: tensor<1x64x16x16xf32>, %b: tensor<2xf32>, %places: tensor<16x2xi64>, %shares: tensor<16x2xf32>) -> tensor<1x2x16x16xf32> {
  %w = glow.splat 0.5 : tensor<2x128x1x1xf32>
  %0 = glow.sample %x, %places, %shares axis 3 : tensor<1x64x8x16xf32>
  %1 = glow.sample %0, %places, %shares axis 2 : tensor<1x64x16x16xf32>
  %2 = glow.concat %1, %y axis 1 : tensor<1x128x16x16xf32>
  %z = glow.conv2d %2, %w, %b : tensor<1x2x16x16xf32>
  func.return %z : tensor<1x2x16x16xf32>
}

// Each part has its own weights, those of all pixels one convolution.
// CHECK-LABEL: func.func @parts(
// CHECK:      [[V0:%.*]] = glow.concat %y, %y axis 1 : tensor<1x2x2x16xf32>
// CHECK:      [[WHOLE:%.*]] = glow.constant dense<1.000000e+00> : tensor<1x2x1x1xf32>
// CHECK-NEXT: [[V1:%.*]] = glow.conv2d [[V0]], [[WHOLE]] : tensor<1x1x2x16xf32>
// CHECK:      [[V2:%.*]] = glow.conv2d %x, {{%.*}} : tensor<1x1x2x8xf32>
// CHECK-NEXT: [[V3:%.*]] = glow.gather [[V2]], %places axis 3 : tensor<1x1x2x16xf32>
// CHECK-NEXT: %z = glow.add [[V1]], [[V3]] : tensor<1x1x2x16xf32>
func.func @parts(%x: tensor<1x96x2x8xf32>, %y: tensor<1x1x2x16xf32>) -> tensor<1x1x2x16xf32> {
  %places = glow.splat 3 : tensor<16xi64>
  %w = glow.splat 1.0 : tensor<1x98x1x1xf32>
  %0 = glow.gather %x, %places axis 3 : tensor<1x96x2x16xf32>
  %1 = glow.concat %y, %0, %y axis 1 : tensor<1x98x2x16xf32>
  %z = glow.conv2d %1, %w : tensor<1x1x2x16xf32>
  func.return %z : tensor<1x1x2x16xf32>
}

// With no other part the bias comes before the nearest pixels are taken.
// CHECK-LABEL: func.func @nearest(
// CHECK:      [[V0:%.*]] = glow.conv2d %x, {{%.*}}, %b : tensor<1x2x8x8xf32>
// CHECK-NEXT: [[V1:%.*]] = glow.gather [[V0]], %places axis 3 : tensor<1x2x8x16xf32>
// CHECK-NEXT: %z = glow.gather [[V1]], %places axis 2 : tensor<1x2x16x16xf32>
// CHECK-NEXT: func.return %z : tensor<1x2x16x16xf32>
func.func @nearest(%x: tensor<1x64x8x8xf32>, %b: tensor<2xf32>) -> tensor<1x2x16x16xf32> {
  %places = glow.splat 3 : tensor<16xi64>
  %w = glow.splat 0.5 : tensor<2x64x1x1xf32>
  %0 = glow.gather %x, %places axis 3 : tensor<1x64x8x16xf32>
  %1 = glow.gather %0, %places axis 2 : tensor<1x64x16x16xf32>
  %z = glow.conv2d %1, %w, %b : tensor<1x2x16x16xf32>
  func.return %z : tensor<1x2x16x16xf32>
}

// One pixel is repeated by the sum.
// CHECK-LABEL: func.func @pooled(
// CHECK:      [[V0:%.*]] = glow.conv2d %y, {{%.*}} : tensor<1x2x1x16xf32>
// CHECK:      [[V1:%.*]] = glow.conv2d %x, {{%.*}} : tensor<1x2x1x1xf32>
// CHECK-NEXT: %z = glow.add [[V0]], [[V1]] : tensor<1x2x1x16xf32>
func.func @pooled(%x: tensor<1x64x1x1xf32>, %y: tensor<1x64x1x16xf32>) -> tensor<1x2x1x16xf32> {
  %w = glow.splat 0.5 : tensor<2x128x1x1xf32>
  %places = glow.splat 0 : tensor<16x2xi64>
  %shares = glow.splat 0.5 : tensor<16x2xf32>
  %0 = glow.sample %x, %places, %shares axis 3 : tensor<1x64x1x16xf32>
  %1 = glow.concat %0, %y axis 1 : tensor<1x128x1x16xf32>
  %z = glow.conv2d %1, %w : tensor<1x2x1x16xf32>
  func.return %z : tensor<1x2x1x16xf32>
}
